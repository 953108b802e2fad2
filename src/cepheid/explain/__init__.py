"""What a plan will do, for people: as text and as a Mermaid diagram."""

from cepheid.explain.mermaid import mermaid, program_mermaid
from cepheid.explain.plan_text import explain_text, program_text

__all__ = ["explain_text", "mermaid", "program_mermaid", "program_text"]
