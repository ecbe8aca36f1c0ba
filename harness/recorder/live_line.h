/* The line of a frame of the live feed, on rank 0. Part of live.h. */

/* Appends text; returns the line's length, LIVE_LINE if something did not fit. */
static int live_append(char *line, int at, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line + at, (size_t)(LIVE_LINE - at), format, values);
  va_end(values);
  return length < 0 || length >= LIVE_LINE - at ? LIVE_LINE : at + length;
}

/* Appends a number; -1 if it is not a possible time or count. */
static int live_put(char *line, int at, const char *format, double value) {
  return live_append(line, at, format, value > -1e18 && value < 1e18 ? value : -1.0);
}

static int live_list(char *line, int at, const char *name, const double *values, int count, double factor) {
  at = live_append(line, at, ",\"%s\":[", name);
  for (int i = 0; i < count; i++) at = live_put(line, at, i ? ",%.0f" : "%.0f", values[i] * factor);
  return live_append(line, at, "]");
}

static void live_write(void) {
  static char line[LIVE_LINE];
  const struct live_vector *all = &live.all;
  double t_ns = (double)(live.frame_ns - live.begin_ns), done = (double)live.frame_iteration;
  int at = 0;
  at = live_put(line, at, "{\"kind\":\"frame\",\"frame\":%.0f", (double)live.frame);
  at = live_put(line, at, ",\"t_ns\":%.0f", t_ns);
  at = live_put(line, at, ",\"iteration\":%.0f", done);
  at = live_put(line, at, ",\"remaining_ns\":%.0f", done > 0 ? t_ns / done * ((double)live.of - done) : -1.0);
  at = live_put(line, at, ",\"window_ns\":%.0f", all->window_ns);
  at = live_list(line, at, "phase_ns", all->phase_ns, live.phases, 1.0);
  int first = 0, last = LIVE_BINS;
  while (first < last && all->bins[first] == 0) first++;
  while (last > first && all->bins[last - 1] == 0) last--;
  at = live_put(line, at, ",\"first_bin\":%.0f", (double)first);
  at = live_list(line, at, "bins", all->bins + first, last - first, 1.0);
  for (int i = 0; i < EXTREMA; i++) {
    double value = i == LEAST_WAIT ? -all->extreme[i][0] : all->extreme[i][0];
    at = live_put(line, at, i ? ",[%.0f" : ",\"extrema\":[[%.0f", all->extreme[i][1]);
    at = live_put(line, at, ",%.0f]", value);
  }
  at = live_put(line, at, "],\"period\":%.0f", (double)live.period);
  at = live_put(line, at, ",\"metric\":%.0f", (double)live.metric);
  at = live_list(line, at, "heat", all->heat, live.columns, 1.0);
  at = live_put(line, at, ",\"late\":%.0f", all->late);
  at = live_put(line, at, ",\"cost_ns\":%.0f", all->spent_ns);
  if (isfinite(live.frame_norm)) {
    int begin = at + 8;
    at = live_append(line, at, ",\"norm\":%.6e", live.frame_norm);
    for (int i = begin; i < at; i++) if (line[i] == ',') line[i] = '.'; /* independent of the locale */
  }
  if (live.foreseen[0])
    at = live_append(line, at, ",\"foreseen\":%s", live.foreseen);
  live.foreseen[0] = 0;
  at = live_append(line, at, "}\n");
  if (at == LIVE_LINE) return; /* a truncated line is not JSON: skip this frame */
  if (live.broken || write(live.fd, line, (size_t)at) == at) return;
  live.broken = 1; /* a full disk: the run continues without the feed */
  if (write(live.fd, "\n", 1) < 0) return;
}
