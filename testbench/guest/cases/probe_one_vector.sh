# name: mlx5_core and mlx5_ib probe with a single vector
# set: hca.msix_vectors=1
vectors=1
. /hcasim/cases/probe.sh
