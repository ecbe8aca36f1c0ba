/* The inner loops of the adaptive kernel as one would write them in C, on the same face lists.
 *
 * hydro_step is the first-order step: primitive variables, HLLC fluxes scattered face by face, walls,
 * update. blocked_step gathers, computes and scatters faces in blocks as the Python loops do.
 * heat_product is the operator of the conjugate gradients.
 */
#include <math.h>
#include <stdint.h>

#define BLOCK 128

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

static inline void contact_flux(double gamma, double rho_l, double u_l, double v_l, double p_l,
                                double rho_r, double u_r, double v_r, double p_r, double *flux) {
  double c_l = sqrt(gamma * p_l / rho_l), c_r = sqrt(gamma * p_r / rho_r);
  double s_l = least(u_l - c_l, u_r - c_r), s_r = most(u_l + c_l, u_r + c_r);
  double m_l = rho_l * (s_l - u_l), m_r = rho_r * (s_r - u_r);
  double contact = (p_r - p_l + m_l * u_l - m_r * u_r) / (m_l - m_r);
  int left = contact >= 0.0;
  double rho = left ? rho_l : rho_r, u = left ? u_l : u_r, v = left ? v_l : v_r;
  double p = left ? p_l : p_r, s = left ? s_l : s_r, mass = left ? m_l : m_r;
  double cut = left ? least(s, 0.0) : most(s, 0.0);
  double energy = p / (gamma - 1.0) + 0.5 * rho * (u * u + v * v);
  double star = mass / (s - contact);
  double star_energy = star * (energy / rho + (contact - u) * (contact + p / mass));
  flux[0] = rho * u + cut * (star - rho);
  flux[1] = rho * u * u + p + cut * (star * contact - rho * u);
  flux[2] = rho * u * v + cut * (star * v - rho * v);
  flux[3] = u * (energy + p) + cut * (star_energy - energy);
}

static void primitive(const double *restrict state, int64_t rows, double gamma,
                      double *restrict gas, double *restrict change) {
  for (int64_t row = 0; row < rows; row++) {
    const double *q = state + 4 * row;
    double inverse = 1.0 / q[0], u = q[1] * inverse, v = q[2] * inverse;
    gas[4 * row] = q[0];
    gas[4 * row + 1] = u;
    gas[4 * row + 2] = v;
    gas[4 * row + 3] = (gamma - 1.0) * (q[3] - 0.5 * q[0] * (u * u + v * v));
    for (int k = 0; k < 4; k++) change[4 * row + k] = 0.0;
  }
}

static void add_fluxes(const double *restrict gas, const int32_t *restrict lower,
                       const int32_t *restrict upper, const int8_t *restrict level, int64_t faces,
                       const double *restrict length, int normal, double gamma,
                       double *restrict change) {
  int across = 3 - normal;
  for (int64_t face = 0; face < faces; face++) {
    const double *a = gas + 4 * (int64_t)lower[face], *b = gas + 4 * (int64_t)upper[face];
    double *low = change + 4 * (int64_t)lower[face], *high = change + 4 * (int64_t)upper[face];
    double f[4], size = length[level[face]];
    contact_flux(gamma, a[0], a[normal], a[across], a[3], b[0], b[normal], b[across], b[3], f);
    low[0] -= f[0] * size;
    low[normal] -= f[1] * size;
    low[across] -= f[2] * size;
    low[3] -= f[3] * size;
    high[0] += f[0] * size;
    high[normal] += f[1] * size;
    high[across] += f[2] * size;
    high[3] += f[3] * size;
  }
}

static void add_blocks(const double *restrict gas, const int32_t *restrict lower,
                       const int32_t *restrict upper, const int8_t *restrict level, int64_t faces,
                       const double *restrict length, int normal, double gamma,
                       double *restrict change) {
  int across = 3 - normal;
  double side[9][BLOCK], flux[4][BLOCK];
  for (int64_t first = 0; first < faces; first += BLOCK) {
    int size = faces - first < BLOCK ? (int)(faces - first) : BLOCK;
    for (int k = 0; k < size; k++) {
      const double *a = gas + 4 * (int64_t)lower[first + k];
      const double *b = gas + 4 * (int64_t)upper[first + k];
      side[0][k] = a[0], side[1][k] = a[normal], side[2][k] = a[across], side[3][k] = a[3];
      side[4][k] = b[0], side[5][k] = b[normal], side[6][k] = b[across], side[7][k] = b[3];
      side[8][k] = length[level[first + k]];
    }
    for (int k = 0; k < size; k++) {
      double f[4];
      contact_flux(gamma, side[0][k], side[1][k], side[2][k], side[3][k], side[4][k], side[5][k],
                   side[6][k], side[7][k], f);
      for (int n = 0; n < 4; n++) flux[n][k] = f[n] * side[8][k];
    }
    for (int k = 0; k < size; k++) {
      double *low = change + 4 * (int64_t)lower[first + k];
      double *high = change + 4 * (int64_t)upper[first + k];
      low[0] -= flux[0][k], low[normal] -= flux[1][k];
      low[across] -= flux[2][k], low[3] -= flux[3][k];
      high[0] += flux[0][k], high[normal] += flux[1][k];
      high[across] += flux[2][k], high[3] += flux[3][k];
    }
  }
}

static void finish(double *restrict state, int64_t owned, const int8_t *restrict cell_level,
                   const int32_t *restrict cell, const int8_t *restrict side, int64_t walls,
                   const double *restrict length, const double *restrict per_area, double gamma,
                   const double *restrict gas, double *restrict change) {
  for (int64_t wall = 0; wall < walls; wall++) {
    const double *q = gas + 4 * (int64_t)cell[wall];
    int column = 1 + side[wall] / 2;
    double sign = side[wall] % 2 ? 1.0 : -1.0, outward = sign * q[column];
    double pressure = q[3] + q[0] * outward * (fabs(outward) + sqrt(gamma * q[3] / q[0]) + outward);
    change[4 * (int64_t)cell[wall] + column] -= sign * pressure * length[cell_level[cell[wall]]];
  }
  for (int64_t row = 0; row < owned; row++)
    for (int k = 0; k < 4; k++)
      state[4 * row + k] += per_area[cell_level[row]] * change[4 * row + k];
}

#define STEP(name, add)                                                                           \
  void name(double *state, int64_t owned, const int8_t *cell_level, const int32_t *x_lower,       \
            const int32_t *x_upper, const int8_t *x_level, int64_t x_faces,                       \
            const int32_t *y_lower, const int32_t *y_upper, const int8_t *y_level,                \
            int64_t y_faces, const int32_t *cell, const int8_t *side, int64_t walls,              \
            const double *length, const double *per_area, double gamma, double *gas,              \
            double *change) {                                                                     \
    primitive(state, owned, gamma, gas, change);                                                  \
    add(gas, x_lower, x_upper, x_level, x_faces, length, 1, gamma, change);                       \
    add(gas, y_lower, y_upper, y_level, y_faces, length, 2, gamma, change);                       \
    finish(state, owned, cell_level, cell, side, walls, length, per_area, gamma, gas, change);    \
  }

STEP(hydro_step, add_fluxes)
STEP(blocked_step, add_blocks)

static void add_passing(const int32_t *restrict lower, const int32_t *restrict upper,
                        const double *restrict weight, int64_t faces, const double *restrict u,
                        double *restrict w) {
  for (int64_t face = 0; face < faces; face++) {
    double passing = -weight[face] * (u[upper[face]] - u[lower[face]]);
    w[lower[face]] += passing;
    w[upper[face]] -= passing;
  }
}

void heat_product(const int32_t *x_lower, const int32_t *x_upper, const double *x_weight,
                  int64_t x_faces, const int32_t *y_lower, const int32_t *y_upper,
                  const double *y_weight, int64_t y_faces, const double *restrict capacity,
                  const double *restrict u, double *restrict w, int64_t rows) {
  for (int64_t row = 0; row < rows; row++) w[row] = capacity[row] * u[row];
  add_passing(x_lower, x_upper, x_weight, x_faces, u, w);
  add_passing(y_lower, y_upper, y_weight, y_faces, u, w);
}
