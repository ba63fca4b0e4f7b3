import config.package

class Configure(config.package.Package):
  def __init__(self, framework):
    config.package.Package.__init__(self, framework)
    self.version          = '0.4.0'
    self.gitcommit        = 'v'+self.version
    self.download         = ['git://https://example.org/petsc-bai.git',
                             'https://example.org/petsc-bai/archive/'+self.gitcommit+'.tar.gz']
    self.downloaddirnames = ['petsc-bai','petscbai']
    self.includes         = ['petscbai.h']
    self.liblist          = [['libpetscbai.so']]
    self.precisions       = ['single','double']
    self.providesDocs     = 1
    self.docsDirs         = ['src','include']
    self.linkedbypetsc    = 0
    self.builtafterpetsc  = 1
    return

  def setupDependencies(self, framework):
    config.package.Package.setupDependencies(self, framework)
    self.setCompilers    = framework.require('config.setCompilers',self)
    self.sharedLibraries = framework.require('PETSc.options.sharedLibraries',self)
    self.blasLapack      = framework.require('config.packages.BlasLapack',self)
    self.mpi             = framework.require('config.packages.MPI',self)
    self.cuda            = framework.require('config.packages.CUDA',self)
    self.deps            = [self.blasLapack]
    self.odeps           = [self.mpi,self.cuda]
    return

  def Install(self):
    import os
    if not self.checkSharedLibrariesEnabled():
      raise RuntimeError('petsc-bai is loaded at run time, which needs shared libraries')
    if not self.getExecutable('pkg-config'):
      raise RuntimeError('petsc-bai needs pkg-config to be built')
    if self.argDB['prefix'] and not 'package-prefix-hash' in self.argDB:
      prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
      args   = ['PETSC_DIR='+prefix,'PETSC_ARCH=']
    else:
      prefix = os.path.join(self.petscdir.dir,self.arch)
      args   = ['PETSC_DIR='+self.petscdir.dir,'PETSC_ARCH='+self.arch]
    # The CUDA backend and the threads of the host backend are built if their compilers are there
    nvcc = ''
    if self.cuda.found:
      with self.Language('CUDA'):
        nvcc = self.getCompiler()
    with self.setCompilers.Language('C'):
      openmp = '-fopenmp' if self.setCompilers.checkLinkerFlag('-fopenmp') else ''
    args += ['NVCC='+nvcc,'OPENMP='+openmp]
    args  = ' '.join('"'+arg+'"' for arg in args)

    # PETSC_HAVE_PETSCBAI makes PetscInitialize() load libpetscbai from PETSc's own folder
    self.include = [os.path.join(prefix,'include')]
    self.lib     = [os.path.join(prefix,'lib','libpetscbai.so')]
    make         = '${OMAKE} -j${MAKE_NP} '+args
    self.addPost(self.packageDir,[make+' all',make+' install "PREFIX='+prefix+'"'])
    self.addMakeCheck(self.packageDir,make+' test T=tests-registration')
    return self.installDir
