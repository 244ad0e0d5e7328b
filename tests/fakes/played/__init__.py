"""The played engine: an OpenAI-compatible server whose timing, answers and faults are data. No model, no GPU; never a measurement."""
