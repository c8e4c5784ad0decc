"""What may be claimed of a run: calibration, corrected scores, evidence, ablation, reports and their verification."""
