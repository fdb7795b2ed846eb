import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { confirmAloud, copy } from "../data/page.ts";
import { inNamespace, keyOfPath, logPath, type RunKey, runPath, shellWord, textOfKey } from "../data/refs.ts";
import { href, navigate, place } from "../data/router.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useKeys, useOffer } from "../parts/hooks.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { formatLineRange, parseLineRange } from "./log/line-range.ts";
import type { Stamps } from "./log/line.tsx";
import { LogBody } from "./log/log-body.tsx";
import { neighbour } from "./log/log-marks.ts";
import { LogModel } from "./log/log-model.ts";
import { LogTools } from "./log/log-tools.tsx";
import type { ViewProps } from "./view-props.ts";

/** What the step pane shows of a log. Without a step: of the whole run. */
export interface LogViewProps {
  readonly run: RunKey;
  readonly step: string | undefined;
  readonly attempt: number | undefined;
  /** The step, or the run, has ended. */
  readonly isOver: boolean;
  /** It opens at its first error. */
  readonly isFailed?: boolean;
}

/** The page of one log, of a step in the query. */
export function View({ params }: ViewProps) {
  const run = keyOfPath(params["dialect"] ?? "", params["namespace"] ?? "", params["name"] ?? "");
  const { query } = place.value;
  const [step, attempt] = [query.get("step") ?? undefined, Number(query.get("attempt") ?? "") || undefined];
  const title = step === undefined ? `Log of ${run.name}` : `Log of ${step}, ${run.name}`;
  useOffer({
    title,
    command: `slipway logs ${shellWord(run.name)}${step === undefined ? "" : ` ${shellWord(step)}`}${inNamespace(run.namespace)}`,
  });
  return (
    <div class="page-column">
      <p class="crumbs">
        <a
          href={href(
            `${runPath(run)}${step === undefined ? "" : `?${new URLSearchParams({ step, tab: "log" }).toString()}`}`,
          )}
        >
          {run.name}
        </a>
      </p>
      <h1 tabIndex={-1} class="wrap">
        {title}
      </h1>
      <LogView run={run} step={step} attempt={attempt} isOver={true} isFailed={true} />
    </div>
  );
}

/** The log of a step, wherever it stands. */
export function LogView(props: LogViewProps) {
  const { run, step, attempt, isOver } = props;
  const model = useMemo(() => new LogModel({ run, step, attempt }), [textOfKey(run), step, attempt, isOver]);
  return <Opened key={`${textOfKey(run)} ${step ?? ""} ${attempt ?? ""} ${String(isOver)}`} model={model} {...props} />;
}

function Opened({ model, run, step, attempt, isOver, isFailed = false }: LogViewProps & { readonly model: LogModel }) {
  const stamps = useSignal<Stamps>("off");
  const isWrapped = useSignal(false);
  const isFollowing = useSignal(!isFailed && parseLineRange(place.peek().hash) === undefined);
  const goal = useSignal<{ readonly line: number } | undefined>(undefined);
  const whole = useSignal<number | undefined>(undefined);
  const selection = parseLineRange(place.value.hash);
  const goTo = (line: number | undefined): void => {
    if (line === undefined) return;
    isFollowing.value = false;
    goal.value = { line };
  };
  const select = (first: number, last = first): void => {
    const { path, query } = place.peek();
    const text = query.toString();
    navigate(`${path}${text === "" ? "" : `?${text}`}${formatLineRange({ first, last })}`, { replace: true });
  };
  useEffect(() => {
    void model.open().then(() => {
      const wanted = parseLineRange(place.peek().hash);
      if (wanted !== undefined) return goTo(wanted.first - 1);
      const [first] = model.errors.peek();
      if (isFailed && first !== undefined) walk(model.errors.peek(), 1, first - 1, "error");
      else isFollowing.value = true;
    });
    return () => model.close();
  }, [model]);
  /** Selects the next of these lines, and says which it is. */
  const walk = (lines: readonly number[], direction: 1 | -1, from: number, what: string): void => {
    const found = neighbour(lines, from, direction);
    if (found === undefined) return confirmAloud(`No ${what} in what is loaded`);
    select(found + 1);
    goTo(found);
    confirmAloud(`${what} ${lines.indexOf(found) + 1} of ${lines.length}, line ${found + 1}`);
  };
  const here = (): number => (selection?.first ?? 0) - 1;
  const onSearch = (direction: 1 | -1) => (): void => walk(model.matches.peek().lines, direction, here(), "match");
  const onError = (direction: 1 | -1) => (): void => walk(model.errors.peek(), direction, here(), "error");
  const toggleFollow = (): void => {
    isFollowing.value = !isFollowing.peek();
  };
  useKeys([
    { keys: "n", label: "Next match in the log", run: onSearch(1) },
    { keys: "N", label: "Previous match in the log", run: onSearch(-1) },
    { keys: "e", label: "Next error in the log", run: onError(1) },
    { keys: "E", label: "Previous error in the log", run: onError(-1) },
    { keys: "f", label: "Follow the log", run: toggleFollow },
    {
      keys: "/",
      label: "Search the log",
      run: () => document.querySelector<HTMLElement>(".log-search input")?.focus(),
    },
  ]);
  const load = model.store.load.value;
  if (load.is === "loading") return <Loading what="the log" />;
  if (load.is === "failed") return <Failure thrown={load.thrown} onRetry={() => void model.open()} />;
  if (model.store.total.value === 0)
    return (
      <p class="muted">
        {model.store.why !== undefined
          ? `There is no log: ${model.store.why}.`
          : isOver
            ? "The log is empty."
            : "Nothing has been written yet. New lines appear here."}
      </p>
    );
  return (
    <section class="log-view" aria-label="Log">
      <LogTools
        model={model}
        stamps={stamps}
        isWrapped={isWrapped}
        isFollowing={isFollowing}
        selection={selection}
        fileName={`${run.name}${step === undefined ? "" : `-${step.replaceAll("/", "-")}`}.log`}
        page={pageOf(run, step, attempt)}
        onSearch={onSearch}
        onError={onError}
        onCopy={() => void copySelected(model, selection)}
      />
      <LogBody
        model={model}
        label={`Lines of the log${step === undefined ? "" : ` of ${step}`}`}
        stamps={stamps.value}
        isWrapped={isWrapped.value}
        isFollowing={isFollowing.value}
        selection={selection}
        goal={goal.value}
        onLeaveEnd={() => {
          isFollowing.value = false;
        }}
        onReachEnd={() => {
          isFollowing.value = true;
        }}
        onSelect={(number, isRange) => {
          const from = isRange ? (selection?.first ?? number) : number;
          select(Math.min(from, number), Math.max(from, number));
        }}
        onShowAll={(number) => {
          whole.value = number;
        }}
      />
      {whole.value !== undefined && (
        <WholeLine
          number={whole.value}
          text={model.store.line(whole.value - 1)?.text ?? ""}
          onClose={() => {
            whole.value = undefined;
          }}
        />
      )}
    </section>
  );
}

function pageOf(run: RunKey, step: string | undefined, attempt: number | undefined): string {
  const query = new URLSearchParams({
    ...(step === undefined ? {} : { step }),
    ...(attempt === undefined ? {} : { attempt: String(attempt) }),
  }).toString();
  return `${logPath(run)}${query === "" ? "" : `?${query}`}`;
}

const mostCopied = 100_000;

async function copySelected(model: LogModel, selection: ReturnType<typeof parseLineRange>): Promise<void> {
  const { first, last } = selection ?? { first: 1, last: model.store.total.peek() };
  if (last - first >= mostCopied)
    return confirmAloud(`Select at most ${mostCopied} lines to copy, or download the log`);
  const lines = await model.texts(first - 1, last).catch(() => undefined);
  if (lines === undefined) return confirmAloud("The server does not answer: nothing was copied");
  await copy(`${lines.join("\n")}\n`, `${lines.length} lines`);
}

/** Text fields draw a megabyte where an ordinary element would hold up the page. */
function WholeLine({
  number,
  text,
  onClose,
}: {
  readonly number: number;
  readonly text: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={`Line ${number}`} class="is-wide" onClose={onClose}>
      <h2>
        Line {number}, {text.length.toLocaleString("en")} characters
      </h2>
      <textarea class="log-whole" aria-label={`Text of line ${number}`} readOnly rows={18} value={text} />
      <p class="dialog-buttons">
        <button type="button" onClick={() => void copy(text, `line ${number}`)}>
          Copy
        </button>
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
