# SPDX-License-Identifier: BSD-3-Clause
# The runs of the files in this folder: words for lockstep-train.  They are read
# by `make`, which wrote the files half way, and by test/old_files.sh, which goes
# on from them to the hashes below.  $old is this folder.
#
# shellcheck disable=SC2034 # the variables are used by those who read this
lm="lm --devices 4 --vocab 40 --seq-len 8 --d-model 16 --heads 2 --layers 2
    --d-ff 32 --rows 48 --batch 12 --optimizer adamw --lr 0.01 --weight-decay 0.1
    --schedule cosine --warmup 2 --decay-steps 14 --end-lr 0.001 --clip-norm 1
    --seed 3 --data-seed 5 --log-every 0"
lm_half=7 lm_all=15
lm_state=25445d377def4cd71a906373810c0a296562b9eb6cd12b41074588bb56b33fd0

cnn="cnn --devices 3 --x $old/x.npy --y $old/y.npy --classes 3 --channels 4,6
    --batch 12 --uneven pad --shuffle --dropout 0.25 --optimizer momentum
    --lr 0.02 --momentum 0.9 --accumulate 2 --seed 4 --data-seed 6 --log-every 0"
cnn_half=5 cnn_all=11
cnn_state=8b17921660e6d91a9aa3cd3210fd1b97dbe03fb2933d0158aa9456b149225146

mlp="mlp --devices 2 --d-in 12 --classes 5 --hidden 10,8 --rows 32 --batch 16
    --optimizer adam --lr 0.01 --seed 5 --data-seed 7 --log-every 0"
mlp_saved=6 mlp_all=4
mlp_state=c3e4c1e3365970cac225154e2f567d2ba2e239054329bbfb5a213f51d0f68548
