import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SourceSummary } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { runPath } from "../data/refs.ts";
import { href } from "../data/router.ts";
import type { Load } from "../data/runs.ts";
import { noteSignedOut } from "../data/server.ts";
import { formatSpan, now } from "../data/time.ts";
import { useOffer } from "../parts/hooks.ts";
import { phaseClass } from "../parts/phase.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";

export function View() {
  useOffer({ title: "Sources", command: "slipway get slipway -A" });
  const sources = useSignal<readonly SourceSummary[]>([]);
  const load = useSignal<Load>({ is: "loading" });
  const open = async (signal?: AbortSignal): Promise<void> => {
    try {
      const answer = await requestJson<readonly SourceSummary[] | { readonly items: readonly SourceSummary[] }>(
        "GET",
        "/sources",
        signal === undefined ? {} : { signal },
      );
      sources.value = "items" in answer ? answer.items : answer;
      load.value = { is: "ready" };
    } catch (thrown) {
      if (signal?.aborted === true) return;
      noteSignedOut(thrown);
      load.value = { is: "failed", thrown };
    }
  };
  useEffect(() => {
    const abort = new AbortController();
    void open(abort.signal);
    return () => abort.abort();
  }, []);
  return (
    <div class="page-column">
      <div class="page-title">
        <h1 tabIndex={-1}>Sources</h1>
        <a href={href("/runs")}>All runs</a>
      </div>
      <p class="muted">
        What runs were made from: templates, projects, applications and machines, with their last 30 runs.
      </p>
      <Body sources={sources.value} load={load.value} onRetry={() => void open()} />
    </div>
  );
}

interface BodyProps {
  readonly sources: readonly SourceSummary[];
  readonly load: Load;
  readonly onRetry: () => void;
}

function Body({ sources, load, onRetry }: BodyProps) {
  if (load.is === "loading") return <Loading what="sources" />;
  if (load.is === "failed") return <Failure thrown={load.thrown} onRetry={onRetry} />;
  if (sources.length === 0)
    return (
      <Empty
        title="No sources yet"
        commands={["slipway apply examples/workflow/templates.yaml", "slipway run template/greeting"]}
      >
        <p>A template or project appears here with its first run.</p>
      </Empty>
    );
  return (
    <div class="runs-scroll" tabIndex={0} role="region" aria-label="List of sources">
      <table class="table sources">
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Last runs, the newest at the right</th>
            <th scope="col" class="from-middle">
              Median
            </th>
            <th scope="col">Succeeded</th>
          </tr>
        </thead>
        <tbody>
          {sources.map((source) => (
            <tr key={`${source.dialect} ${source.namespace} ${source.kind} ${source.name}`}>
              <td class="name">
                <a href={href(`/runs?filter=${encodeURIComponent(`source:${source.kind}/${source.name}`)}`)}>
                  {source.name}
                </a>
                <span class="muted namespace">
                  {source.kind} in {source.namespace}
                </span>
              </td>
              <td>
                <Bars source={source} />
              </td>
              <td class="from-middle number">{source.medianMs === undefined ? "-" : formatSpan(source.medianMs)}</td>
              <td class="number">
                {source.successRate === undefined ? "-" : `${Math.round(source.successRate * 100)} %`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const [barWidth, barStep, barsHeight] = [6, 8, 24];

/** Height is duration, tone is outcome, and what failed is marked at its foot, so that it does not depend on colour. */
function Bars({ source }: { readonly source: SourceSummary }) {
  const runs = source.runs.slice(0, 30).toReversed();
  const spans = runs.map(({ startedAt, finishedAt }) =>
    startedAt === undefined ? 0 : (finishedAt ?? now.value) - startedAt,
  );
  const longest = Math.max(1, ...spans);
  const failed = runs.filter(({ phase }) => phase === "Failed").length;
  return (
    <svg
      class="bars"
      role="group"
      aria-label={`${runs.length} runs, ${failed} failed`}
      width={30 * barStep}
      height={barsHeight + 6}
      viewBox={`0 0 ${30 * barStep} ${barsHeight + 6}`}
    >
      {runs.map((run, index) => {
        const height = Math.max(3, (barsHeight * (spans[index] ?? 0)) / longest);
        const x = (30 - runs.length + index) * barStep;
        const target = runPath({ dialect: source.dialect, namespace: source.namespace, name: run.name });
        return (
          <a key={run.name} href={href(target)} tabIndex={-1} aria-label={`${run.name}: ${run.phase}`}>
            <title>{`${run.name}: ${run.phase}, ${formatSpan(spans[index] ?? 0)}`}</title>
            <rect class="bar-field" x={x - 1} y={0} width={barStep} height={barsHeight + 6} />
            <rect
              class={`bar ${phaseClass(run.phase)}`}
              x={x}
              y={barsHeight - height}
              width={barWidth}
              height={height}
            />
            {run.phase === "Failed" && (
              <rect class="bar phase-failed" x={x} y={barsHeight + 2} width={barWidth} height={2} />
            )}
          </a>
        );
      })}
    </svg>
  );
}
