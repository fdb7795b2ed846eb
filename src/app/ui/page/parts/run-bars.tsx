import type { Instant } from "#lib/base/index.ts";
import type { SourceSummary } from "#app/ui/wire.ts";
import { runPath } from "../data/refs.ts";
import { href } from "../data/router.ts";
import { formatSpan, now } from "../data/time.ts";
import { phaseClass } from "./phase.tsx";

/** How long a run took, or has taken so far. */
export const spanOf = (run: { readonly startedAt?: Instant; readonly finishedAt?: Instant }): number =>
  run.startedAt === undefined ? 0 : Math.max(0, (run.finishedAt ?? now.value) - run.startedAt);

const [barWidth, barStep, barsHeight, most] = [6, 8, 24, 30];

/** Height is duration, tone is outcome, and what failed is marked at its foot, so that it does not depend on colour. */
export function RunBars({ source }: { readonly source: SourceSummary }) {
  const runs = source.runs.slice(0, most).toReversed();
  const spans = runs.map(spanOf);
  const longest = Math.max(1, ...spans);
  const failed = runs.filter(({ phase }) => phase === "Failed").length;
  const [width, height] = [most * barStep, barsHeight + 6];
  return (
    <svg
      class="bars"
      role="group"
      aria-label={`${runs.length} runs, ${failed} failed`}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      {runs.map((run, index) => {
        const span = spans[index] ?? 0;
        const tall = Math.max(3, (barsHeight * span) / longest);
        const x = (most - runs.length + index) * barStep;
        const target = runPath({ dialect: source.dialect, namespace: source.namespace, name: run.name });
        return (
          <a key={run.name} href={href(target)} tabIndex={-1} aria-label={`${run.name}: ${run.phase}`}>
            <title>{`${run.name}: ${run.phase}, ${formatSpan(span)}`}</title>
            <rect class="bar-field" x={x - 1} y={0} width={barStep} height={height} />
            <rect class={`bar ${phaseClass(run.phase)}`} x={x} y={barsHeight - tall} width={barWidth} height={tall} />
            {run.phase === "Failed" && (
              <rect class="bar phase-failed" x={x} y={barsHeight + 2} width={barWidth} height={2} />
            )}
          </a>
        );
      })}
    </svg>
  );
}
