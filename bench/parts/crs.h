/*
   Asynchronous iteration on a matrix in compressed rows (CRS), and on one that is split into its diagonal blocks,
   diagonal entry first, and everything else (Block-CRS): Algorithms 16 and 18 of H. Anzt's thesis, as they stand there,
   to compare the two. crs.c has it for the host, crs.cu for a GPU; crs_none.c stands in where there is no nvcc
*/
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int     n, block_size;
  int    *i, *j; /* the whole matrix; NULL in Block-CRS */
  double *a;
  int    *loc_i, *loc_j, *off_i, *off_j; /* Block-CRS: inside the blocks, and outside; else NULL */
  double *loc_a, *off_a;
} CRS;

/* Block-CRS of a matrix; returns 0 if there is not enough memory */
int  CRSSplit(const CRS *matrix, CRS *split);
void CRSDestroy(CRS *);

/*
   its global iterations of local_iters updates each on x, and how many seconds they took. Blocks do not wait for each
   other within one. Returns NULL, or what failed
*/
const char *CRSIterateHost(const CRS *, const double *b, double *x, int local_iters, int its, double *seconds);
const char *CRSIterateDevice(const CRS *, const double *b, double *x, int local_iters, int its, double *seconds);

#ifdef __cplusplus
}
#endif
