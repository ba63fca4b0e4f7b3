/* Rules for whole levels: properties of a matrix, the numbering of rows on a grid, and boxes of a grid as aggregates */
#include "findings.h"
#include <stdlib.h>

BAIStatus BAITakeFindings(const BAIFindings *found, int differs, const BAILevelsParameters *p, BAIInt n,
                          BAILevelsInfo *info, BAIReal *over)
{
  BAIStatus     status = BAIStatusOf(BAI_OK);
  BAILevelsInfo like;

  info->negative  = !differs && found->other && !found->opposite;
  info->hermitian = !differs && (!found->other || info->negative);
  if (p->like) {
    BAILevelsInfoGet(p->like, &like);
    info->negative  = like.negative;
    info->hermitian = like.hermitian;
  }
  info->less    = info->negative ? found->more : found->less;
  info->more    = info->negative ? found->less : found->more;
  info->largest = found->most;
  info->units   = n ? sqrt(found->units2 / (double)n) : 0;
  info->norm    = found->norm;
  info->skew    = found->skew;
  info->coupled = found->coupled;
  *over         = !info->hermitian || info->more > BAI_LEVELS_OTHER_SIGN * info->less ? 1 : p->over;
  if (found->bad < n) {
    status     = BAIStatusOf(BAI_ERR_DIAGONAL);
    status.row = (BAIInt)found->bad;
  } else if (found->longest > BAILevelsLongest(p)) status = BAIStatusOf(BAI_ERR_LONG);
  return status;
}

/* Whether an offset is in the list */
static int Has(int count, const BAIInt *offset, BAIInt wanted)
{
  for (int k = 0; k < count; k++)
    if (offset[k] == wanted) return 1;
  return 0;
}

/* The grid that the offsets of the entries of a row in the middle show; the offsets are positive and ascend. m[0] is 0
   if they show none */
static void GridOfRow(BAIInt n, int count, const BAIInt *offset, BAIInt m[3])
{
  BAIInt line = 0, plane = 0;

  m[0] = m[1] = m[2] = 0;
  if (!Has(count, offset, 1)) return;
  for (int k = 0; k < count && !line; k++)
    if (offset[k] > 1) line = Has(count, offset, offset[k] + 2) ? offset[k] + 1 : offset[k];
  if (!line) line = n;
  if (n % line) return;
  for (int k = 0; k < count && !plane; k++)
    if (offset[k] > line + 1 && offset[k] % line == 0 && n % offset[k] == 0) plane = offset[k];
  m[0] = line;
  m[1] = plane ? plane / line : n / line;
  m[2] = plane ? n / plane : 1;
}

/* Sets grid to what the offsets of such a row show: the grid of this rank's n points or, if the grid of all points has
   other lines or planes, the part of that one that contains these points */
static void GridOfPart(BAIInt n, const BAILevelsParameters *p, int count, const BAIInt *offset, BAINumbering *grid)
{
  BAIInt m[3], slab;

  *grid = (BAINumbering){.unknowns = p->fields};
  GridOfRow(n, count, offset, grid->m);
  if (!p->all) return;
  GridOfRow(p->all / p->fields, count, offset, m);
  slab = m[2] > 1 ? m[0] * m[1] : m[0];
  if (!m[0] || (grid->m[0] == m[0] && (m[2] == 1 || grid->m[1] == m[1])) || n < 2 * slab) return;
  /* without whole lines or planes */
  grid->skip                = p->first / p->fields % slab;
  grid->m[0]                = m[0];
  grid->m[1]                = m[1];
  grid->m[2]                = 1;
  grid->m[m[2] > 1 ? 2 : 1] = (grid->skip + n + slab - 1) / slab;
}

/* The row with the most neighbours of larger number shows the grid */
int BAIGridFind(BAIInt n, const BAILevelsParameters *p, BAIInt begin, BAIInt rows, const BAIInt *i, const BAIInt *j,
                const BAIScalar *a, BAINumbering *grid)
{
  const int none = p->no_grid || (p->field && (p->above || !p->given)); /* fields may not be numbered in turn */
  BAIInt    offset[BAI_GRID_ROW];
  int       most = 0;

  *grid = (BAINumbering){.m = {0}};
  for (BAIInt r = 0; r < rows && i[r + 1] - i[r] <= BAI_GRID_ROW && !none; r++) {
    int count = 0;

    for (BAIInt k = i[r] - i[0]; k < i[r + 1] - i[0]; k++) {
      const BAIInt ahead = j[k] - (begin + r);
      int          at;

      if (ahead <= 0 || j[k] >= n || ahead % p->fields || a[k] == (BAIScalar)0) continue;
      for (at = count++; at > 0 && offset[at - 1] > ahead / p->fields; at--) offset[at] = offset[at - 1];
      offset[at] = ahead / p->fields;
    }
    if (count <= most) continue;
    most = count;
    GridOfPart(n / p->fields, p, count, offset, grid);
  }
  return most > 0 || none;
}

BAIInt BAICountAggregates(BAIInt n, const BAIInt *aggregate, BAIInt *largest)
{
  BAIInt m = 0, *rows;

  *largest = 0;
  for (BAIInt i = 0; i < n; i++)
    if (aggregate[i] >= m) m = aggregate[i] + 1;
  rows = calloc((size_t)m + 1, sizeof(*rows));
  for (BAIInt i = 0; i < n && rows; i++)
    if (aggregate[i] >= 0 && ++rows[aggregate[i]] > *largest) *largest = rows[aggregate[i]];
  if (!rows) *largest = BAI_LEVELS_BLOCK;
  free(rows);
  return m;
}

/* Points of a line or plane across the slowest direction, which are consecutive */
static BAIInt Slab(const BAINumbering *grid)
{
  return grid->m[2] > 1 ? grid->m[0] * grid->m[1] : grid->m[0];
}

/* The number of couplings along direction d if all rows that have couplings are coupled to both neighbours. Along the
   slowest direction the first and the last plane or line of a rank may be incomplete */
static double Neighbours(const BAIGridLook *look, const BAINumbering *grid, BAIInt n, int d)
{
  const double part = d == (grid->m[2] > 1 ? 2 : 1) ? (double)Slab(grid) / (double)BAIGridPoints(grid, n)
                                                    : 1 / (double)grid->m[d];

  return part < 1 ? 2 * (double)(n - look->alone) * (1 - part) : 0;
}

void BAIGridBoxes(const BAIGridLook *look, const BAINumbering *grid, BAIInt n, BAIBox *box)
{
  /* All fields must want the same boxes */
  const double least = grid->unknowns > 1 ? 1 - 0.5 / (double)grid->unknowns : BAI_GRID_MANY,
               alike = grid->unknowns > 1 ? BAI_GRID_STRONG : BAI_GRID_ALIKE;
  double mean[3] = {0, 0, 0}, most = 0;
  int    strong[3];
  /* Otherwise the boxes of a rank might not be consecutive */
  int fits = !look->other && (!grid->skip || BAIGridPoints(grid, n) >= 2 * Slab(grid));

  for (int d = 0; d < 3; d++) {
    box->m[d] = 1;
    if (!look->count[d]) continue;
    mean[d] = look->sum[d] / (double)look->count[d];
    if (mean[d] > most) most = mean[d];
    if (look->most[d] > alike * look->least[d]) fits = 0;
  }
  for (int d = 0; d < 3; d++) {
    strong[d] = grid->m[d] > 1 && BAI_GRID_STRONG * mean[d] >= most;
    if (strong[d] && (double)look->count[d] < least * Neighbours(look, grid, n, d)) fits = 0;
  }
  for (int d = 0; d < 3 && fits; d++)
    if (strong[d]) box->m[d] = 2;
}

BAIInt BAIGridCoarsen(const BAINumbering *grid, const BAIBox *boxes, BAIInt n, BAINumbering *next)
{
  const BAIInt *box = boxes->m, end[2] = {grid->skip, grid->skip + BAIGridPoints(grid, n) - 1};
  BAIInt        number[2];

  *next = (BAINumbering){.unknowns = grid->unknowns};
  for (int d = 0; d < 3; d++) next->m[d] = (grid->m[d] + box[d] - 1) / box[d];
  const BAIInt line = next->m[0], plane = next->m[0] * next->m[1];

  for (BAIInt e = 0; e < 2; e++) {
    const BAIInt x = end[e] % grid->m[0], y = end[e] / grid->m[0] % grid->m[1], z = end[e] / grid->m[0] / grid->m[1];

    /* A box that begins in the plane or line of the first row, or ends in the plane or line of the last one, has all
       rows of its other plane or line */
    number[e] = plane * (z / box[2]);
    if (box[2] == 2 && z % 2 == e && (e || z + 1 < grid->m[2])) number[e] += e ? plane - 1 : 0;
    else if (box[1] == 2 && y % 2 == e && (e || y + 1 < grid->m[1])) number[e] += line * (y / 2) + (e ? line - 1 : 0);
    else number[e] += line * (y / box[1]) + x / box[0];
  }
  next->skip = number[0];
  return (number[1] - number[0] + 1) * grid->unknowns;
}
