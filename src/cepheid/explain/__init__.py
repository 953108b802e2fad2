"""What a plan will do, for people: as text, as a Mermaid diagram, in notebooks."""

from cepheid.explain.explanation import Explanation, explanation_of
from cepheid.explain.mermaid import mermaid, program_mermaid
from cepheid.explain.plan_text import explain_text

__all__ = ["Explanation", "explain_text", "explanation_of", "mermaid", "program_mermaid"]
