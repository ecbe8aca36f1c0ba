#include "all_ranks.h"

#include "attached.h"
#include "clock.h"
#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
enum { HEAR_TAG = 17, MAX_LISTED = 8 };
static const int64_t PATIENCE_NS = 10000000000; /* since the last rank was heard */
static const int64_t TURN_NS = 50000;           /* between the first looks of two ranks at the board: a file system serves them all */
static const int64_t MAX_PAUSE_NS = 500000000;  /* between two looks of a rank */
static const int64_t LATE_NS = 200000000;       /* for messages that were sent before the board was closed */
static const char START_ALL[] =
    "Either hindmost did not start the others, or it cannot be loaded into them. Start each part of the program with "
    "'hindmost attach', or its launcher: hindmost attach --out FOLDER -- mpiexec ...";

struct notice {
  char job[256], token[400];
  int size;
};

static void take_notice(char *line, void *to) {
  struct notice *open = to;
  char job[256], token[400];
  int size;
  if (sscanf(line, "begun %255s %d %399s", job, &size, token) == 3 && size == open->size && !strcmp(job, open->job))
    memcpy(open->token, token, sizeof token);
  else if (sscanf(line, "closed %399s", token) == 1 && !strcmp(token, open->token))
    *open->token = 0;
}

static void rest(int64_t ns) {
  struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}

/* Ranks as in "1, 2, 3": those whose request is still open. */
static void list_open(char *list, size_t room, const MPI_Request requests[], int count) {
  size_t size = 0;
  int listed = 0;
  *list = 0;
  for (int i = 0; i < count; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (listed++ == MAX_LISTED) {
      snprintf(list + size, room - size, ", ...");
      return;
    }
    size += (size_t)snprintf(list + size, room - size, "%s%d", listed > 1 ? ", " : "", i + 1);
  }
}

/* Rank 0: whether it heard from all others. */
static int hear_all(int tag) {
  struct notice notice = {.size = attached.size};
  struct timespec calendar;
  int others = attached.size - 1, heard = 0, verdict, new;
  char host[256] = "host", missing[256];
  MPI_Request *requests = malloc((size_t)others * sizeof *requests), request;
  int *places = malloc((size_t)others * sizeof *places);
  if (!requests || !places) others = 0;
  gethostname(host, sizeof host - 1);
  clock_gettime(CLOCK_REALTIME, &calendar);
  name_job(notice.job, sizeof notice.job);
  snprintf(notice.token, sizeof notice.token, "%s:%d:%lld", host, (int)attached.pid,
           (long long)calendar.tv_sec * 1000000000 + calendar.tv_nsec);
  for (int i = 0; i < others; i++) PMPI_Irecv(NULL, 0, MPI_BYTE, i + 1, tag, MPI_COMM_WORLD, &requests[i]);
  int unwritten = write_on_board("begun %s %d %s\n", notice.job, notice.size, notice.token), closed = unwritten;
  for (int64_t until = system_now() + (closed ? 0 : PATIENCE_NS); heard < others;) {
    PMPI_Testsome(others, requests, &new, places, MPI_STATUSES_IGNORE);
    if (new > 0) {
      heard += new;
      if (!closed) until = system_now() + PATIENCE_NS;
    } else if (system_now() < until)
      rest(100000);
    else if (!closed) {
      closed = 1;
      write_on_board("closed %s\n", notice.token);
      until = system_now() + LATE_NS;
    } else
      break;
  }
  if (!closed) write_on_board("closed %s\n", notice.token);
  verdict = requests && places && heard == attached.size - 1;
  if (unwritten)
    refuse("Nothing will be recorded of %s: %s: %s. Choose another --out.", own_name(), attached.board, strerror(unwritten));
  else if (!verdict) {
    list_open(missing, sizeof missing, requests, others);
    refuse("Nothing will be recorded of %s: the recorder answered on %d of its %d ranks, and for %d s not on rank %s. %s",
           own_name(), heard + 1, attached.size, (int)(PATIENCE_NS / 1000000000), missing, START_ALL);
  }
  for (int i = 0; i < others; i++) {
    if (requests[i] == MPI_REQUEST_NULL) {
      PMPI_Isend(&verdict, 1, MPI_INT, i + 1, tag, MPI_COMM_WORLD, &request);
      PMPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      PMPI_Cancel(&requests[i]);
      PMPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
  free(requests);
  free(places);
  return verdict;
}

/* Another rank: what rank 0 answers; no if it does not announce itself, or has given up. */
static int be_heard(int tag) {
  struct notice notice = {.size = attached.size};
  int verdict = 0, done = 0, closed = 0;
  MPI_Request request;
  MPI_Status status;
  name_job(notice.job, sizeof notice.job);
  int64_t turn = attached.rank * TURN_NS, until = system_now() + PATIENCE_NS;
  if (turn > MAX_PAUSE_NS) turn = MAX_PAUSE_NS;
  int64_t pause = turn > 500000 ? turn : 500000;
  for (rest(turn);; rest(pause), pause = 2 * pause < MAX_PAUSE_NS ? 2 * pause : MAX_PAUSE_NS) {
    read_board(take_notice, &notice);
    if (*notice.token) break;
    if (system_now() < until) continue;
    refuse("Nothing will be recorded of %s: rank %d of its %d ranks has the recorder, and waited %d s for a sign of it from "
           "rank 0 in %s. %s", own_name(), attached.rank, attached.size, (int)(PATIENCE_NS / 1000000000), attached.out,
           START_ALL);
    return 0;
  }
  PMPI_Send(NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
  PMPI_Irecv(&verdict, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
  for (until = 0; !done; rest(100000)) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done || (until && system_now() < until)) continue;
    if (closed) { /* a while ago, and nothing came */
      PMPI_Cancel(&request);
      PMPI_Wait(&request, &status);
      PMPI_Test_cancelled(&status, &closed);
      return closed ? 0 : verdict;
    }
    if (until) { /* what rank 0 sends when it has closed the board may be on its way */
      read_board(take_notice, &notice);
      closed = !*notice.token;
    }
    until = system_now() + PATIENCE_NS;
  }
  return verdict;
}

static int all_are_attached(void) {
  int *most = NULL, is_set = 0;
  if (attached.size == 1) return 1;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_set);
  int tag = is_set ? *most - HEAR_TAG : 32767 - HEAR_TAG;
  return attached.rank ? be_heard(tag) : hear_all(tag);
}
