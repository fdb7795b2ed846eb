import { useSignal } from "@preact/signals";
import type { SourceSummary } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { sourcePath } from "../data/refs.ts";
import { href } from "../data/router.ts";
import { formatSpan } from "../data/time.ts";
import { wordsOf } from "../data/words.ts";
import { useAgainOnChange, useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { Phase } from "../parts/phase.tsx";
import { RunBars } from "../parts/run-bars.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { middle, TableHead } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

/** Runs grouped by what they were made from. */
export function View() {
  const text = useSignal("");
  const [answer, again] = useAnswer((signal) =>
    requestJson<{ readonly items: readonly SourceSummary[] }>("GET", "/sources", { signal }),
  );
  useAgainOnChange({ what: "runs", params: {} }, again);
  const all = answer.is === "ready" ? answer.value.items : [];
  const kinds = [...new Set(all.map(({ kind, group }) => `${kind.toLowerCase()}.${group}`))];
  useOffer({ title: "Sources", command: `kubectl get ${kinds.join(",") || "workflowtemplates"} -A` });
  const fits = wordsOf(text.value);
  const shown = all.filter(({ name, kind, namespace, dialect }) => fits(`${name} ${kind} ${namespace} ${dialect}`));
  return (
    <div class="page-column">
      <div class="page-title">
        <h1 tabIndex={-1}>Sources</h1>
        <span class="muted from-middle">What runs were made from: templates, schedules, projects, applications</span>
        <a href={href("/runs")}>All runs</a>
      </div>
      {answer.is === "loading" && <Loading what="sources" />}
      {answer.is === "failed" && <Failure thrown={answer.thrown} onRetry={again} />}
      {answer.is === "ready" && all.length === 0 && (
        <Empty
          title="No sources yet"
          commands={[
            "slipway apply examples/workflow/templates.yaml",
            "slipway run wft/greeting --param who=you",
            "slipway run examples/vela/first.yaml",
          ]}
        >
          <p>A template, project or application appears here with its first run.</p>
        </Empty>
      )}
      {all.length > 0 && (
        <>
          <div class="filter" role="search">
            <input
              type="search"
              aria-label="Filter sources"
              placeholder="Name, kind or namespace"
              onInput={(event) => {
                text.value = event.currentTarget.value;
              }}
            />
            <span class="muted" role="status">
              {shown.length} of {all.length}
            </span>
          </div>
          <Sources sources={shown} />
        </>
      )}
    </div>
  );
}

const columns = [
  { id: "Source" },
  middle("Last run"),
  { id: "Last 30 runs", head: <span title="The newest at the right">Last 30 runs</span> },
  { id: "Median", class: "from-middle is-number" },
  { id: "Succeeded", class: "is-number" },
];

const Sources = ({ sources }: { readonly sources: readonly SourceSummary[] }) => (
  <div class="runs-scroll" tabIndex={0} role="region" aria-label="List of sources">
    <table class="table sources">
      <TableHead columns={columns} />
      <tbody>
        {sources.map((source) => (
          <tr key={sourcePath(source)}>
            <td class="name">
              <a href={href(sourcePath(source))}>{source.name}</a>
              <span class="under muted">
                {source.kind} in {source.namespace}
              </span>
            </td>
            <td class="from-middle">
              {source.runs[0] !== undefined && (
                <>
                  <Phase phase={source.runs[0].phase} />
                  <span class="under muted">
                    <Time at={source.runs[0].startedAt ?? source.runs[0].createdAt} />
                  </span>
                </>
              )}
            </td>
            <td>
              <RunBars source={source} />
            </td>
            <td class="from-middle is-number">{source.medianMs === undefined ? "-" : formatSpan(source.medianMs)}</td>
            <td class="is-number">{rateText(source)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

export const rateText = ({ successRate }: Pick<SourceSummary, "successRate">): string =>
  successRate === undefined ? "-" : `${Math.round(successRate * 100)} %`;
