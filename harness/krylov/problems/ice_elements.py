"""The ice of `ice_flow`: test cases, and what one element adds to the equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

METRE, SECOND, KILOGRAM = 1e-2, 1e-7, 1e-12
"""Units of the equations, as in ex48; they scale all numbers alike."""
PASCAL = KILOGRAM / (METRE * SECOND**2)
YEAR = 31556926.0 * SECOND
WEIGHT = 910.0 * KILOGRAM / METRE**3 * 9.81 * METRE / SECOND**2
"""rho g."""
HARDNESS = (1e-16 / PASCAL**3 / YEAR) ** (-1.0 / 3.0)
"""B = A^(-1/3)."""
MIN_STRAIN = 0.5 * (1e-5 / YEAR) ** 2
"""eps."""
LENGTH = 10_000.0 * METRE
"""Of the domain, in x and in y."""

NODES = np.array(
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
)
"""Corners of an element, (x, y, z)."""
SIGNS = 2.0 * NODES - 1.0
GAUSS = np.array(list(product((-1, 1), repeat=3)), np.float64)[:, ::-1] / np.sqrt(3.0)


Field = NDArray[np.float64]
FRICTION = PASCAL * YEAR / METRE
SURFACE_DEPTH = -1000.0 * METRE
"""Of a bed without bumps below the surface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test case: the slope of the surface, the bed and its friction.

    Attributes
    ----------
    slope : float
        Of the surface, degrees.
    no_slip : bool
        Whether the ice is frozen to the bed.
    bed : callable
        From x, y and the height of the surface to the height of the bed and its friction.
    by_angle : bool
        Whether the surface falls with the angle 2 pi x / LENGTH - pi rather than with x.
    """

    slope: float
    no_slip: bool
    bed: Callable[[Field, Field, Field], tuple[Field, Field]]
    by_angle: bool = False

    def columns(self, x: Field, y: Field) -> tuple[Field, Field, Field]:
        """Return bed, thickness and friction of columns of ice at x and y."""
        along = 2.0 * np.pi * x / LENGTH - np.pi if self.by_angle else x
        surface = -along * np.sin(np.radians(self.slope))
        bed, friction = self.bed(x, y, surface)
        return bed, surface - bed, friction


def waves(x: Field, y: Field) -> Field:
    """Return one wave in each direction, from -1 to 1."""
    return np.asarray(np.sin(2.0 * np.pi * x / LENGTH) * np.sin(2.0 * np.pi * y / LENGTH))


def frozen(x: Field, y: Field, surface: Field) -> tuple[Field, Field]:
    """Return the bed of A: bumps of 500 m."""
    return surface + SURFACE_DEPTH + 500.0 * METRE * waves(x, y), np.zeros_like(x)


def flat(x: Field, y: Field, surface: Field) -> tuple[Field, Field]:
    """Return the bed of C: a plane whose friction varies."""
    return surface + SURFACE_DEPTH, 1000.0 * (1.0 + waves(x, y)) * FRICTION


def sticky(x: Field, y: Field, surface: Field) -> tuple[Field, Field]:
    """Return the bed of X: the bumps of A, with friction in the centre only."""
    radius = np.hypot(2.0 * np.pi * x / LENGTH - np.pi, 2.0 * np.pi * y / LENGTH - np.pi)
    return frozen(x, y, surface)[0], np.where(radius < 1.0, 2000.0, 0.0) * FRICTION


def rings(x: Field, y: Field, surface: Field) -> tuple[Field, Field]:
    """Return the bed of Z: the bumps of A, with friction in rings."""
    across, along = 2.0 * np.pi * x / LENGTH - np.pi, 2.0 * np.pi * y / LENGTH - np.pi
    radius = 16.0 * np.hypot(across, along)
    wave = np.sin(np.sqrt(radius)) / np.sqrt(1e-2 + radius)
    friction = 1000.0 * (1.0 + wave * np.cos(1.5 * across) * np.cos(1.5 * along)) * FRICTION
    return frozen(x, y, surface)[0], friction


def cliffs(x: Field, y: Field, surface: Field) -> tuple[Field, Field]:
    """Return the bed of Y: that of Z, with its tops raised by 200 m."""
    bed, friction = rings(x, y, surface)
    return bed + np.where(bed > -700.0 * METRE, 200.0 * METRE, 0.0), friction


CASES = {
    "A": Case(slope=0.5, no_slip=True, bed=frozen),
    "C": Case(slope=0.1, no_slip=False, bed=flat),
    "X": Case(slope=0.3, no_slip=False, bed=sticky, by_angle=True),
    "Y": Case(slope=0.5, no_slip=False, bed=cliffs, by_angle=True),
    "Z": Case(slope=0.5, no_slip=False, bed=rings, by_angle=True),
}


def shape_functions(points: Field) -> tuple[Field, Field]:
    """Return the trilinear functions and their derivatives on [-1, 1]^3.

    Returns
    -------
    values : float64 array, shape (point, node)
    slopes : float64 array, shape (point, node, direction)
    """
    terms = 0.5 * (1.0 + SIGNS[None] * points[:, None])
    slopes = np.stack(
        [0.5 * SIGNS[None, :, d] * np.delete(terms, d, axis=2).prod(axis=2) for d in range(3)],
        axis=2,
    )
    return terms.prod(axis=2), slopes


PHI, SLOPES = shape_functions(GAUSS)
FLOOR = np.array([(a, b) for b in (-1, 1) for a in (-1, 1)], np.float64) / np.sqrt(3.0)
FLOOR_PHI = (
    0.25
    * (1.0 + SIGNS[None, :4, 0] * FLOOR[:, None, 0])
    * (1.0 + SIGNS[None, :4, 1] * FLOOR[:, None, 1])
)
"""Bilinear functions at the 2 x 2 Gauss points of the bed, shape (point, node)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The columns of elements at their four corners in the plane.

    Attributes
    ----------
    bed, layer, friction : float64 array, shape (y, x, corner)
        Height of the bed, thickness of a layer of elements, friction of the bed.
    """

    bed: Field
    layer: Field
    friction: Field

    def part(self, columns: slice) -> Ground:
        """Return some of the columns along x."""
        return Ground(
            bed=self.bed[:, columns],
            layer=self.layer[:, columns],
            friction=self.friction[:, columns],
        )

    def heights(self, layers: int) -> Field:
        """Return z of the corners of all elements, shape (z, y, x, node)."""
        level = np.arange(layers)[:, None, None, None]
        low = self.bed + self.layer * level
        return np.concatenate([low, low + self.layer], axis=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """What elements add to the equations, scaled by 1 / (rho g).

    Attributes
    ----------
    matrix : float64 array, shape (element, node, component, node, component)
    residual : float64 array, shape (element, node, component)
    """

    matrix: Field
    residual: Field


def element_terms(
    case: Case,
    spacing: tuple[float, float],
    ground: Ground,
    velocity: Field,
) -> Elements:
    """Compute the matrices and residuals of a block of elements.

    Parameters
    ----------
    spacing : tuple of float
        Of the columns in x and y.
    ground : Ground
    velocity : float64 array, shape (z, y, x, node, component)
    """
    layers = velocity.shape[0]
    elements = velocity[..., 0, 0].size
    bottom = np.arange(elements) < elements // layers
    frozen_nodes = np.zeros((elements, 8), np.bool_)
    if case.no_slip:
        frozen_nodes[bottom, :4] = True
    velocity = np.where(frozen_nodes[:, :, None], 0.0, velocity.reshape(elements, 8, 2))
    height = ground.heights(layers).reshape(elements, 8)
    # The Jacobian of an element is triangular: only z depends on all three local coordinates.
    z_slopes = np.einsum("qnd,en->eqd", SLOPES, height)
    gradient = np.empty((elements, 8, 8, 3))
    gradient[..., 2] = SLOPES[None, :, :, 2] / z_slopes[:, :, None, 2]
    for d in range(2):
        gradient[..., d] = (SLOPES[None, :, :, d] - gradient[..., 2] * z_slopes[:, :, None, d]) * (
            2.0 / spacing[d]
        )
    volume = 0.25 * spacing[0] * spacing[1] * z_slopes[:, :, 2]

    flow = np.einsum("eqnd,enc->eqcd", gradient, velocity)
    (u_x, u_y, u_z), (v_x, v_y, v_z) = np.moveaxis(flow, (2, 3), (0, 1))
    shear = u_y + v_x
    strain = u_x**2 + v_y**2 + u_x * v_y + 0.25 * (shear**2 + u_z**2 + v_z**2)
    viscosity = 0.5 * HARDNESS * (MIN_STRAIN + strain) ** (-1.0 / 3.0)
    weight = volume * viscosity / WEIGHT

    # K_uu = eta (4 phi_x N_x + phi_y N_y + phi_z N_z) and so on, summed over the Gauss points.
    weighted = (weight[:, :, None, None] * gradient).reshape(elements, 8, 24)
    products = np.matmul(weighted.transpose(0, 2, 1), gradient.reshape(elements, 8, 24))
    pairs = products.reshape(elements, 8, 3, 8, 3)
    xx, yy, zz = (pairs[:, :, d, :, d] for d in range(3))
    xy, yx = pairs[:, :, 0, :, 1], pairs[:, :, 1, :, 0]
    matrix = np.empty((elements, 8, 2, 8, 2))
    matrix[:, :, 0, :, 0] = 4.0 * xx + yy + zz
    matrix[:, :, 1, :, 1] = xx + 4.0 * yy + zz
    matrix[:, :, 0, :, 1] = 2.0 * xy + yx
    matrix[:, :, 1, :, 0] = 2.0 * yx + xy

    # S: the stress that a test function meets, of both components.
    stress = np.stack(
        [
            np.stack([4.0 * u_x + 2.0 * v_y, shear, u_z], axis=-1),
            np.stack([shear, 4.0 * v_y + 2.0 * u_x, v_z], axis=-1),
        ],
        axis=2,
    )
    met = np.einsum("eqnd,eqcd->eqnc", gradient, stress)
    driving = -np.sin(np.radians(case.slope))
    residual = np.einsum("eq,eqnc->enc", weight, met)
    residual[:, :, 0] += driving * np.einsum("eq,qn->en", volume, PHI)
    # d gamma / d u(N) is half the stress that N meets; d eta / d gamma = -eta / (3 (eps + gamma)).
    bend = -weight / (3.0 * (MIN_STRAIN + strain))
    left = (bend[:, :, None, None] * met).reshape(elements, 8, 16)
    right = 0.5 * met.reshape(elements, 8, 16)
    change = np.matmul(left.transpose(0, 2, 1), right)
    matrix += change.reshape(elements, 8, 2, 8, 2)

    if case.no_slip:
        matrix[bottom, :4] = 0.0
        matrix[bottom, :, :, :4] = 0.0
        residual[bottom, :4] = 0.0
        h_x, h_y = spacing
        h_z = ground.layer[..., 0].ravel()
        scale = 2.0 * viscosity[bottom, 0] / WEIGHT
        flat_term = h_x * h_y / h_z
        matrix[bottom, 0, 0, 0, 0] = scale * (flat_term + h_x * h_z / h_y + 4.0 * h_y * h_z / h_x)
        matrix[bottom, 0, 1, 0, 1] = scale * (flat_term + 4.0 * h_x * h_z / h_y + h_y * h_z / h_x)
    else:
        area = 0.25 * spacing[0] * spacing[1] / WEIGHT
        drag = area * np.einsum("qn,en->eq", FLOOR_PHI, ground.friction.reshape(-1, 4))
        mass = np.einsum("eq,qm,qn->emn", drag, FLOOR_PHI, FLOOR_PHI)
        for c in range(2):
            matrix[bottom, :4, c, :4, c] += mass
            residual[bottom, :4, c] += np.einsum("emn,en->em", mass, velocity[bottom, :4, c])
    return Elements(matrix=matrix, residual=residual)
