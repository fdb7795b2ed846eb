import type { StepPhase } from "#engine/index.ts";

/** Shapes on a field of 16 by 16; each differs without its colour. */
const shapes: Readonly<Record<StepPhase, preact.JSX.Element>> = {
  Pending: <circle cx="8" cy="8" r="5.5" class="line" />,
  Waiting: (
    <path
      d="M4.5 2.5h7M4.5 13.5h7M5.5 2.5c0 3 5 4 5 5.5s-5 2.5-5 5.5M10.5 2.5c0 3-5 4-5 5.5s5 2.5 5 5.5"
      class="line"
    />
  ),
  Starting: <circle cx="8" cy="8" r="5.5" class="line dotted" />,
  Running: (
    <g class="turn">
      <circle cx="8" cy="8" r="5.75" class="line" />
      <path d="M8 2.25a5.75 5.75 0 0 1 0 11.5z" class="area" />
    </g>
  ),
  Suspended: <path d="M5.5 3.5v9M10.5 3.5v9" class="line thick" />,
  Cancelling: (
    <g>
      <circle cx="8" cy="8" r="5.5" class="line dotted" />
      <path d="M4.5 11.5l7-7" class="line" />
    </g>
  ),
  Canceled: (
    <g>
      <circle cx="8" cy="8" r="5.5" class="line" />
      <path d="M4.5 11.5l7-7" class="line" />
    </g>
  ),
  Succeeded: <path d="M2.75 8.75l3.5 3.5 7-8" class="line thick" />,
  Failed: <path d="M3.5 3.5l9 9M12.5 3.5l-9 9" class="line thick" />,
  Skipped: <path d="M3 8h10" class="line thick" />,
};

export const phaseClass = (phase: StepPhase): string => `phase-${phase.toLowerCase()}`;

/** The shape alone, where the word stands beside it. */
export const PhaseShape = ({ phase }: { readonly phase: StepPhase }) => (
  <svg class={`phase-shape ${phaseClass(phase)}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    {shapes[phase]}
  </svg>
);

/** Inside another drawing, at its place. */
export const PhaseMark = ({ phase, x, y }: { readonly phase: StepPhase; readonly x: number; readonly y: number }) => (
  <g class={`phase-shape ${phaseClass(phase)}`} transform={`translate(${x} ${y})`} aria-hidden="true">
    {shapes[phase]}
  </g>
);

/** Shape and word; `native` is the dialect's own word if it differs. */
export function Phase({ phase, native }: { readonly phase: StepPhase; readonly native?: string | undefined }) {
  const isOther = native !== undefined && native !== "" && native.toLowerCase() !== phase.toLowerCase();
  return (
    <span class={`phase ${phaseClass(phase)}`}>
      <PhaseShape phase={phase} />
      <span class="phase-word">{phase}</span>
      {isOther && <span class="phase-native">{native}</span>}
    </span>
  );
}
