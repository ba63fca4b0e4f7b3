#!/usr/bin/env python3
"""Writes matrices that are no regular grids as Matrix Market files, for `bench/multigrid -f`.

./systems.py <folder> [name ...]: all of them, or those named. Needs numpy and scipy. Each is symmetric and positive
definite, with Dirichlet boundary values eliminated:

lognormal   7 points on 60 x 110 x 85 cells; the logarithm of the coefficient has standard deviation 3 and is smooth
            over two cells
graded      5 points on 700 x 700 points that are graded towards the boundary by tanh
turned      bilinear elements on 500 x 500, 1000 times stiffer in a direction turned by 30 degrees
tetrahedra  linear elements on the Delaunay triangulation of 66^3 points, a grid of them moved at random
quadratic   quadratic elements on that of 30^3 points
"""
import sys

import numpy as np
from scipy import io, ndimage, sparse, spatial

SEED = 1


def from_faces(n, faces, extra):
    """The matrix of fluxes between neighbouring cells: faces has (i, j, transmissibility); extra is added to the
    diagonal."""
    i = np.concatenate([f[0].ravel() for f in faces])
    j = np.concatenate([f[1].ravel() for f in faces])
    t = np.concatenate([f[2].ravel() for f in faces])
    off = sparse.coo_matrix((-t, (i, j)), shape=(n, n)).tocsr()
    off = off + off.T
    return (off + sparse.diags(np.asarray(-off.sum(axis=1)).ravel() + extra)).tocsr()


def lognormal():
    shape = (85, 110, 60)
    field = ndimage.gaussian_filter(np.random.default_rng(SEED).standard_normal(shape), 2)
    k = np.exp(3 * field / field.std())
    number = np.arange(k.size).reshape(shape)
    faces, extra = [], np.zeros(shape)
    for axis in range(3):
        a, b = [np.take(k, range(s, s + shape[axis] - 1), axis) for s in (0, 1)]
        i, j = [np.take(number, range(s, s + shape[axis] - 1), axis) for s in (0, 1)]
        faces.append((i, j, 2 * a * b / (a + b)))
        for end in (0, -1):
            at = [slice(None)] * 3
            at[axis] = end
            extra[tuple(at)] += 2 * k[tuple(at)]
    return from_faces(k.size, faces, extra.ravel())


def graded():
    n = 700
    x = np.tanh(np.linspace(-2.5, 2.5, n + 2)) / np.tanh(2.5)
    h = np.diff(x)
    width = (h[1:] + h[:-1]) / 2
    one = sparse.diags([1 / h[:-1] + 1 / h[1:], -1 / h[1:-1], -1 / h[1:-1]], [0, 1, -1])
    weight = sparse.diags(width)
    return (sparse.kron(one, weight) + sparse.kron(weight, one)).tocsr()


def turned():
    n, angle = 500, np.pi / 6
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s], [s, c]])
    tensor = turn @ np.diag([1, 1e-3]) @ turn.T
    stiff, mass, skew = (
        np.array([[1, -1], [-1, 1]]),
        np.array([[2, 1], [1, 2]]) / 6,
        np.array([[-0.5, -0.5], [0.5, 0.5]]),
    )
    element = (
        tensor[0, 0] * np.kron(mass, stiff)
        + tensor[1, 1] * np.kron(stiff, mass)
        + tensor[0, 1] * (np.kron(skew.T, skew) + np.kron(skew, skew.T))
    )
    y, x = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing='ij')
    first = (y * (n + 2) + x).ravel()
    nodes = first[:, None] + np.array([0, 1, n + 2, n + 3])
    A = assemble((n + 2) ** 2, nodes, np.broadcast_to(element, (len(nodes), 4, 4)))
    inside = np.arange((n + 2) ** 2).reshape(n + 2, n + 2)[1:-1, 1:-1].ravel()
    return A[inside][:, inside]


def assemble(n, nodes, elements):
    k = nodes.shape[1]
    i, j = np.repeat(nodes, k, axis=1), np.tile(nodes, (1, k))
    return sparse.coo_matrix((elements.reshape(-1), (i.ravel(), j.ravel())), shape=(n, n)).tocsr()


def mesh(n):
    """Points and tetrahedra of the Delaunay triangulation of n^3 points of a cube; those on its boundary stay there."""
    grid = np.stack(np.meshgrid(*3 * [np.arange(n, dtype=float)], indexing='ij'), -1).reshape(-1, 3)
    free = (grid > 0) & (grid < n - 1)
    x = grid + free * np.random.default_rng(SEED).uniform(-0.35, 0.35, grid.shape)
    cells = spatial.Delaunay(x).simplices
    volume = np.abs(np.linalg.det(x[cells[:, 1:]] - x[cells[:, :1]])) / 6
    return x, cells[volume > 1e-3], ~free.all(axis=1)


def gradients(x, cells):
    """Gradients of the barycentric coordinates, and volumes."""
    edges = x[cells[:, 1:]] - x[cells[:, :1]]
    g = np.linalg.inv(edges).transpose(0, 2, 1)
    return np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1), np.abs(np.linalg.det(edges)) / 6


def tetrahedra():
    x, cells, boundary = mesh(66)
    g, volume = gradients(x, cells)
    A = assemble(len(x), cells, volume[:, None, None] * (g @ g.transpose(0, 2, 1)))
    inside = np.flatnonzero(~boundary & (A.diagonal() > 0))
    return A[inside][:, inside]


def quadratic():
    x, cells, boundary = mesh(30)
    g, volume = gradients(x, cells)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    ends = np.sort(np.concatenate([cells[:, p] for p in pairs]), axis=1)
    edges, number = np.unique(ends, axis=0, return_inverse=True)
    nodes = np.concatenate([cells, len(x) + number.reshape(6, -1).T], axis=1)
    a, b = (5 + 3 * np.sqrt(5)) / 20, (5 - np.sqrt(5)) / 20
    elements = np.zeros((len(cells), 10, 10))
    for q in range(4):  # a quadrature rule of degree 2
        l = np.where(np.arange(4) == q, a, b)
        d = np.concatenate(
            [(4 * l[:, None] - 1) * g] + [(4 * (l[i] * g[:, j] + l[j] * g[:, i]))[:, None] for i, j in pairs], axis=1
        )
        elements += volume[:, None, None] / 4 * (d @ d.transpose(0, 2, 1))
    A = assemble(len(x) + len(edges), nodes, elements)
    inside = np.flatnonzero(~np.concatenate([boundary, boundary[edges].all(axis=1)]) & (A.diagonal() > 0))
    return A[inside][:, inside]


def main():
    names = {f.__name__: f for f in (lognormal, graded, turned, tetrahedra, quadratic)}
    for name in sys.argv[2:] or names:
        A = names[name]()
        A = (A + A.T) / 2
        print(name, A.shape[0], 'rows,', A.nnz, 'entries')
        io.mmwrite(f'{sys.argv[1]}/{name}.mtx', A, symmetry='symmetric')


if __name__ == '__main__':
    main()
