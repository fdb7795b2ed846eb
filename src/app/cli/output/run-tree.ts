import { type RunView, type StepPhase, type StepView, summarizeItems } from "#engine/index.ts";
import { formatAge, type Instant, type Millis, oneLine } from "#lib/base/index.ts";
import { fit, type Paint } from "#kernel/command/index.node.ts";

/** How a run is drawn. `frame` moves the sign of running steps. */
export interface TreeStyle {
  readonly paint: Paint;
  readonly unicode: boolean;
  readonly columns: number;
  readonly frame: number;
}

interface Sign {
  readonly unicode: string;
  readonly ascii: string;
  readonly paint: keyof Paint;
}

const spinner = { unicode: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"], ascii: ["|", "/", "-", "\\"] } as const;

/** Each is one column wide, so that names line up. */
const signs: Readonly<Record<StepPhase, Sign>> = {
  Pending: { unicode: "·", ascii: ".", paint: "dim" },
  Waiting: { unicode: "◌", ascii: "~", paint: "waiting" },
  Starting: { unicode: "○", ascii: "o", paint: "active" },
  Running: { unicode: "●", ascii: "*", paint: "active" },
  Suspended: { unicode: "‖", ascii: "=", paint: "waiting" },
  Cancelling: { unicode: "◍", ascii: "!", paint: "waiting" },
  Succeeded: { unicode: "✓", ascii: "+", paint: "good" },
  Failed: { unicode: "✗", ascii: "x", paint: "bad" },
  Skipped: { unicode: "↷", ascii: "-", paint: "dim" },
  Canceled: { unicode: "⊘", ascii: "/", paint: "waiting" },
};

/** The colour of a phase. */
export const toneOf = (phase: StepPhase): keyof Paint => signs[phase].paint;

export const formatElapsed = (elapsed: Millis): string =>
  elapsed < 10_000 ? `${(Math.max(0, elapsed) / 1000).toFixed(1)}s` : formatAge(elapsed);

/** How long a run or step has taken; empty before its start. */
export const elapsedOf = (
  { startedAt, finishedAt }: { startedAt?: Instant; finishedAt?: Instant },
  now: Instant,
): string => (startedAt === undefined ? "" : formatElapsed((finishedAt ?? now) - startedAt));

/** What to show of a step besides its phase: the attempt, what it waits for, why it ended. */
export function remarkOf(step: StepView): string {
  const tries =
    step.iteration !== undefined
      ? [`round ${step.iteration}`]
      : step.attempt > 1
        ? [`attempt ${step.attempt}${step.attempts === undefined ? "" : `/${step.attempts}`}`]
        : [];
  const explained = joined(step.reason, step.message);
  if (step.phase === "Pending") return step.waitingFor.length === 0 ? "" : `waits for ${step.waitingFor.join(", ")}`;
  const held = step.holdUp === undefined ? [] : [joined(step.holdUp.reason, step.holdUp.message)];
  if (step.items !== undefined && step.phase === "Running") return [summarizeItems(step.items), ...held].join(", ");
  const isWell = step.phase === "Succeeded" || step.phase === "Running" || step.phase === "Starting";
  return (isWell ? [...tries, ...held] : [...tries, explained]).filter((text) => text !== "").join(", ");
}

/** Why a run is in its phase, as `reason: message`; empty when the phase says it all. */
export const explanationOf = ({ phase, reason, message }: RunView): string =>
  joined(reason === phase ? undefined : reason, message);

/** Messages may have several lines. */
const joined = (...parts: readonly (string | undefined)[]): string =>
  oneLine(parts.filter((text) => text !== undefined && text !== "").join(": "));

export const titleOf = ({ name }: StepView): string => oneLine(name);

/**
 * The run as a head line, then one line for each step, final steps under their own heading. Lines longer than `columns`
 * are cut.
 */
export function renderTree(view: RunView, now: Instant, style: TreeStyle): string[] {
  // On a narrow terminal, names are cut before states, which may take half of it.
  const state = Math.min(
    Math.floor(style.columns / 2),
    Math.max(0, ...view.steps.map((step) => stateOf(step, now).length)),
  );
  const longest = Math.max(0, ...view.steps.map((step) => titleOf(step).length));
  const width = Math.min(longest, Math.max(shortestName, style.columns - state - 3));
  const main = view.steps.filter((step) => step.final !== true);
  const final = view.steps.filter((step) => step.final === true);
  const lines = (steps: readonly StepView[]) => steps.map((step) => stepLine(step, now, width, style));
  return [
    headLine(view, now, style),
    ...lines(main),
    ...(final.length === 0 ? [] : [style.paint.dim("finally"), ...lines(final)]),
  ];
}

const stateOf = (step: StepView, now: Instant): string =>
  `${elapsedOf(step, now).padStart(6)}  ${remarkOf(step)}`.trimEnd();

const shortestName = 8;

const ellipsisOf = ({ unicode }: TreeStyle): string => (unicode ? "…" : "~");

function headLine(view: RunView, now: Instant, style: TreeStyle): string {
  const { done, total } = view.progress;
  const state = `  ${view.nativePhase}  ${done}/${total}  ${elapsedOf(view, now)}`;
  const name = fit(view.name, Math.max(shortestName, style.columns - state.length), ellipsisOf(style));
  return style.paint.bold(fit(`${name}${state}  ${explanationOf(view)}`.trimEnd(), style.columns, ellipsisOf(style)));
}

function stepLine(step: StepView, now: Instant, width: number, style: TreeStyle): string {
  const sign = signs[step.holdUp === undefined ? step.phase : "Waiting"];
  const moving = step.phase === "Running" && step.holdUp === undefined;
  const frames = style.unicode ? spinner.unicode : spinner.ascii;
  const glyph = moving ? (frames[style.frame % frames.length] ?? "") : style.unicode ? sign.unicode : sign.ascii;
  const name = fit(titleOf(step), width, ellipsisOf(style)).padEnd(width);
  const rest = fit(`${name} ${stateOf(step, now)}`.trimEnd(), style.columns - 2, ellipsisOf(style));
  const quiet = step.phase === "Pending" || step.phase === "Skipped";
  return `${style.paint[sign.paint](glyph)} ${quiet ? style.paint.dim(rest) : rest}`;
}
