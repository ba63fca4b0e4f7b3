! Block-asynchronous iteration from Fortran: a Poisson problem on an n x n grid, and all else from options
!
!   ./ex7f -dll_append /path/to/libpetscbai.so -ksp_type bai
!   mpiexec -n 2 ./ex7f -n 40 -dll_append ... -ksp_type bai -ksp_converged_reason -ksp_view
!   ./ex7f -dll_append ... -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai
!   ./ex7f -dll_append ... -ksp_type bai -mat_type aijcusparse
program main
#include <petsc/finclude/petscksp.h>
  use petscksp
  implicit none

  PetscErrorCode :: ierr
  PetscInt       :: n, row, first, last, i, j, its
  PetscBool      :: set
  PetscReal      :: error
  PetscScalar    :: one, four
  Vec            :: x, b
  Mat            :: A
  KSP            :: ksp
  character(80)  :: text

  PetscCallA(PetscInitialize(ierr))
  n = 20
  one = 1.0
  four = 4.0
  PetscCallA(PetscOptionsGetInt(PETSC_NULL_OPTIONS, PETSC_NULL_CHARACTER, '-n', n, set, ierr))

  PetscCallA(MatCreate(PETSC_COMM_WORLD, A, ierr))
  PetscCallA(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n*n, n*n, ierr))
  PetscCallA(MatSetFromOptions(A, ierr))
  PetscCallA(MatSetUp(A, ierr))
  PetscCallA(MatGetOwnershipRange(A, first, last, ierr))
  do row = first, last - 1
    i = mod(row, n)
    j = row/n
    if (j > 0) then
      PetscCallA(MatSetValue(A, row, row - n, -one, INSERT_VALUES, ierr))
    end if
    if (i > 0) then
      PetscCallA(MatSetValue(A, row, row - 1, -one, INSERT_VALUES, ierr))
    end if
    PetscCallA(MatSetValue(A, row, row, four, INSERT_VALUES, ierr))
    if (i < n - 1) then
      PetscCallA(MatSetValue(A, row, row + 1, -one, INSERT_VALUES, ierr))
    end if
    if (j < n - 1) then
      PetscCallA(MatSetValue(A, row, row + n, -one, INSERT_VALUES, ierr))
    end if
  end do
  PetscCallA(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr))
  PetscCallA(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr))

  ! The solution is one everywhere
  PetscCallA(MatCreateVecs(A, x, b, ierr))
  PetscCallA(VecSet(x, one, ierr))
  PetscCallA(MatMult(A, x, b, ierr))

  PetscCallA(KSPCreate(PETSC_COMM_WORLD, ksp, ierr))
  PetscCallA(KSPSetOperators(ksp, A, A, ierr))
  PetscCallA(KSPSetFromOptions(ksp, ierr))
  PetscCallA(KSPSolve(ksp, b, x, ierr))

  PetscCallA(KSPGetIterationNumber(ksp, its, ierr))
  PetscCallA(VecShift(x, -one, ierr))
  PetscCallA(VecNorm(x, NORM_INFINITY, error, ierr))
  if (error < 1e-4) then
    write (text, '("The solution is found in ", i0, " iterations", a)') its, new_line('a')
  else
    write (text, '("Error ", es8.1, " after ", i0, " iterations", a)') error, its, new_line('a')
  end if
  PetscCallA(PetscPrintf(PETSC_COMM_WORLD, trim(text), ierr))
  PetscCallA(KSPDestroy(ksp, ierr))
  PetscCallA(VecDestroy(x, ierr))
  PetscCallA(VecDestroy(b, ierr))
  PetscCallA(MatDestroy(A, ierr))
  PetscCallA(PetscFinalize(ierr))
end program

!/*TEST
!
!  testset:
!    requires: fortran
!    nsize: {{1 2}}
!    filter: sed "s/ in [0-9]* iterations//"
!    output_file: output/ex7f.out
!
!    test:
!      suffix: ksp
!      args: -dll_append ${BAI_LIB} -ksp_type bai -ksp_rtol 1e-8 -ksp_bai_mode {{async launch sync color}shared output}
!
!    test:
!      suffix: pc
!      args: -dll_append ${BAI_LIB} -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1
!      args: -mg_levels_pc_type bai
!
!TEST*/
