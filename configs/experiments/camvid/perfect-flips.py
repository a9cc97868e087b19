# Bound: perfect flips of the black box's own decision.
_base_ = './gumbel.py'
model = dict(
    decode_head=dict(
        calibration=dict(
            _delete_=True,
            type='FlippedDecision',
            class_flips=(
                (4, 11, 8 / 17),
                (9, 12, 7 / 17),
                (8, 13, 6 / 17),
                (5, 14, 5 / 17),
                (3, 15, 4 / 17),
            ),
        )
    )
)
