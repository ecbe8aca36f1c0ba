/* Steps whose virtual functions end with calls of others, some of them on a condition. */
#include <mpi.h>

struct Part {
  virtual ~Part() {}
  virtual void step(Part *next) = 0;
  Part *after = nullptr;
  volatile double work = 0.0;

  void sum() {
    double one = 1.0;
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 50000; i++) work += one;
  }
};

struct Flux : Part {
  void step(Part *next) override {
    sum();
    next->step(after);
  }
};

struct Heat : Part {
  void step(Part *next) override {
    sum();
    if (next) next->step(nullptr);
  }
};

struct Dump : Part {
  void step(Part *) override {
    sum();
    work += 1.0;
  }
};

int main(int count, char **words) {
  MPI_Init(&count, &words);
  Part *flux = new Flux, *heat = new Heat, *dump = new Dump;
  flux->after = dump;
  for (int step = 0; step < 70 + count; step++) flux->step(heat);
  MPI_Finalize();
}
