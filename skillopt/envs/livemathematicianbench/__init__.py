"""LiveMathematicianBench: which of several similar statements does a recent theorem give?"""
