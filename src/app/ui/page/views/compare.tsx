import type { RunDetail, RunPage, RunSummary } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { objectYaml } from "../data/objects.ts";
import { argumentsOf, comparePath, keyOfPath, type RunKey, runPath, sourcePath } from "../data/refs.ts";
import { href, navigate, place } from "../data/router.ts";
import { formatSpan } from "../data/time.ts";
import { useAnswer } from "../parts/answer.ts";
import { Diff } from "../parts/diff.tsx";
import { useKeys, useOffer } from "../parts/hooks.ts";
import { Phase } from "../parts/phase.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { middle, Table } from "../parts/table.tsx";
import { Span, Time } from "../parts/time.tsx";
import { type ComparedSide, type ComparedStep, compareSteps, specPart } from "./compare-steps.ts";
import type { ViewProps } from "./view-props.ts";

interface Compared {
  readonly left: RunDetail;
  readonly right: RunDetail;
  /** Undefined if one of them cannot be read. */
  readonly specs: readonly [left: string, right: string] | undefined;
  /** Runs of the same source, the newest first. */
  readonly others: readonly RunSummary[];
}

async function readBoth(right: RunKey, other: string, signal: AbortSignal): Promise<Compared> {
  const read = (name: string) => requestJson<RunDetail>("GET", runPath({ ...right, name }), { signal });
  const both = await Promise.all([read(other), read(right.name)]);
  const specs = Promise.all([objectYaml(both[0].view.ref, signal), objectYaml(both[1].view.ref, signal)]).then(
    ([left, right]) => [specPart(left), specPart(right)] as const,
    () => undefined,
  );
  const { source } = both[1].summary;
  const query = { namespace: right.namespace, limit: "100", source: `${source?.kind}/${source?.name}` };
  const others = source === undefined ? [] : (await requestJson<RunPage>("GET", "/runs", { query, signal })).items;
  return { left: both[0], right: both[1], specs: await specs, others };
}

/** Two runs of one source: what is different, and how much longer each step takes. */
export function View({ params }: ViewProps) {
  const key = keyOfPath(params["dialect"] ?? "", params["namespace"] ?? "", params["name"] ?? "");
  const other = params["other"] ?? "";
  const [answer, again] = useAnswer((signal) => readBoth(key, other, signal), place.value.path);
  const refs = answer.is === "ready" ? [answer.value.left.view.ref, answer.value.right.view.ref] : [];
  const shown = refs.map((ref) => `<(kubectl get ${argumentsOf(ref)} -o yaml)`);
  useOffer({
    title: `${other} and ${key.name}`,
    ...(shown.length === 0 ? {} : { command: `diff ${shown.join(" ")}` }),
  });
  useKeys([
    { keys: "s", label: "Swap the two runs", run: () => navigate(comparePath({ ...key, name: other }, key.name)) },
  ]);
  const source = answer.is === "ready" ? answer.value.right.summary.source : undefined;
  return (
    <div class="page-column is-scrolled">
      <p class="crumbs">
        <a href={href("/runs")}>Runs</a>
        {source !== undefined && (
          <>
            <span aria-hidden="true"> / </span>
            <a href={href(sourcePath({ ...key, ...source }))}>{source.name}</a>
          </>
        )}
      </p>
      <h1 tabIndex={-1}>Compare two runs</h1>
      {answer.is === "loading" && <Loading what="both runs" />}
      {answer.is === "failed" && <Failure thrown={answer.thrown} onRetry={again} />}
      {answer.is === "ready" && <Both compared={answer.value} runKey={key} other={other} />}
    </div>
  );
}

interface BothProps {
  readonly compared: Compared;
  readonly runKey: RunKey;
  readonly other: string;
}

const columns = [
  { id: "Step" },
  { id: "Left" },
  { id: "Right" },
  { id: "Longer by", class: "is-number" },
  middle("Different"),
];

function Both({ compared: { left, right, specs, others }, runKey, other }: BothProps) {
  const steps = compareSteps(left.view.steps, right.view.steps);
  return (
    <>
      <div class="compare-heads">
        <Head
          label="Left"
          run={left}
          others={others}
          onChoose={(name) => navigate(comparePath(runKey, name), { replace: true })}
        />
        <Head
          label="Right"
          run={right}
          others={others}
          onChoose={(name) => navigate(comparePath({ ...runKey, name }, other), { replace: true })}
        />
      </div>
      <section aria-label="Steps">
        <h2>Steps</h2>
        <Table label="Steps side by side" class="compare" columns={columns}>
          {steps.map((step) => (
            <Row key={step.id} step={step} left={{ ...runKey, name: other }} right={runKey} />
          ))}
        </Table>
      </section>
      <section aria-label="Specification">
        <h2>Specification</h2>
        {specs === undefined ? (
          <p class="muted">The objects of the runs could not be read.</p>
        ) : (
          <Diff before={specs[0]} after={specs[1]} />
        )}
      </section>
    </>
  );
}

interface HeadProps {
  readonly label: string;
  readonly run: RunDetail;
  readonly others: readonly RunSummary[];
  readonly onChoose: (name: string) => void;
}

function Head({ label, run: { view }, others, onChoose }: HeadProps) {
  const names = others.map(({ ref }) => ref.name);
  return (
    <div class="compare-head">
      <label class="field">
        {label}
        <select value={view.ref.name} onChange={(event) => onChoose(event.currentTarget.value)}>
          {(names.includes(view.ref.name) ? names : [view.ref.name, ...names]).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <p class="buttons">
        <Phase phase={view.phase} native={view.nativePhase} />
        <Span from={view.startedAt} to={view.finishedAt} />
        <Time at={view.startedAt ?? view.createdAt} />
      </p>
    </div>
  );
}

interface RowProps {
  readonly step: ComparedStep;
  readonly left: RunKey;
  readonly right: RunKey;
}

const Row = ({ step: { id, name, left: a, right: b, moreMs, changed }, left, right }: RowProps) => (
  <tr class={changed.length > 0 || a === undefined || b === undefined ? "is-changed" : ""}>
    <th scope="row" class="mono">
      {name}
    </th>
    <td>
      <Side side={a} run={left} step={id} />
    </td>
    <td>
      <Side side={b} run={right} step={id} />
    </td>
    <td class="is-number">{moreMs === undefined ? "-" : longerText(moreMs)}</td>
    <td class="from-middle muted">
      {a === undefined ? "only in the right one" : b === undefined ? "only in the left one" : changed.join(", ")}
    </td>
  </tr>
);

/** With its sign; below a tenth of a second nothing. */
const longerText = (ms: number): string =>
  Math.abs(ms) < 100 ? "0" : `${ms > 0 ? "+" : "−"}${formatSpan(Math.abs(ms))}`;

interface SideProps {
  readonly side: ComparedSide | undefined;
  readonly run: RunKey;
  readonly step: string;
}

function Side({ side, run, step }: SideProps) {
  if (side === undefined) return <span class="muted">-</span>;
  const target = `${runPath(run)}?${new URLSearchParams({ step }).toString()}`;
  return (
    <a class="compare-side" href={href(target)} title={side.message}>
      <Phase phase={side.phase} />
      <span class="number">{side.ms === undefined ? "" : formatSpan(side.ms)}</span>
      {side.attempt > 1 && <span class="muted">try {side.attempt}</span>}
    </a>
  );
}
