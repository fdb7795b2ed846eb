import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LogLine, LogPage } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { logPath, type RunKey } from "../data/refs.ts";
import type { Load } from "../data/runs.ts";
import { Failure, Loading } from "../parts/states.tsx";

/** What the step pane shows of a log. Without a step: of the whole run. */
export interface LogViewProps {
  readonly run: RunKey;
  readonly step: string | undefined;
  readonly attempt: number | undefined;
  /** The step, or the run, has ended. */
  readonly isOver: boolean;
}

const mostLines = 1000;

/** The last lines. */
export function LogView({ run, step, attempt, isOver }: LogViewProps) {
  const lines = useSignal<readonly LogLine[]>([]);
  const total = useSignal(0);
  const load = useSignal<Load>({ is: "loading" });
  const open = async (signal?: AbortSignal): Promise<void> => {
    try {
      const query = {
        step,
        attempt: attempt === undefined ? undefined : String(attempt),
        from: `-${mostLines}`,
        count: `${mostLines}`,
      };
      const page = await requestJson<LogPage>("GET", logPath(run), {
        query,
        ...(signal === undefined ? {} : { signal }),
      });
      lines.value = page.lines;
      total.value = page.total;
      load.value = { is: "ready" };
    } catch (thrown) {
      if (signal?.aborted !== true) load.value = { is: "failed", thrown };
    }
  };
  useEffect(() => {
    const abort = new AbortController();
    load.value = { is: "loading" };
    void open(abort.signal);
    return () => abort.abort();
  }, [step, attempt, isOver]);
  if (load.value.is === "loading") return <Loading what="the log" />;
  if (load.value.is === "failed") return <Failure thrown={load.value.thrown} onRetry={() => void open()} />;
  if (lines.value.length === 0)
    return <p class="muted">{isOver ? "The log is empty." : "Nothing has been written yet."}</p>;
  return (
    <>
      <p class="muted">
        {total.value > lines.value.length && `The last ${lines.value.length} of ${total.value} lines. `}
        <button type="button" class="link" onClick={() => void open()}>
          Load again
        </button>
      </p>
      <pre class="text log">
        {lines.value.map(({ text, stream }, index) => (
          <span key={index} class={stream === "stderr" ? "stderr" : ""}>
            {`${text}\n`}
          </span>
        ))}
      </pre>
    </>
  );
}
