import { aborted } from "#lib/base/index.ts";
import { type Invocation, UsageError } from "#kernel/command/index.ts";
import type { ControlPlaneSession } from "./control-plane.ts";
import type { RunOptions } from "./run-options.ts";
import type { StartedRun } from "./watch-to-end.ts";

/** The web UI beside a command that runs documents. */
export interface RunPage {
  /** Opens the page of the run, or of all runs if there are several, or prints its link. */
  tell(runs: readonly StartedRun[]): Promise<void>;
  /** Keeps a web UI that ends with this command until a signal, which then does not change the exit code. */
  stay(code: number): Promise<void>;
  close(): Promise<void>;
}

export async function openRunPage(
  session: ControlPlaneSession,
  { environment, options, signal }: Invocation<RunOptions>,
): Promise<RunPage> {
  const { openBrowser, pageOfRun } = await import("./ui-link.ts");
  const { err, out } = environment;
  const place = await session.openUi();
  if (options.detach === true && place.isOwn) {
    await place.close();
    throw new UsageError("--ui with --detach: the web UI would end with this command", "open it with: slipway ui");
  }
  return {
    async tell(runs) {
      const [run, another] = runs;
      const metadata = run?.stored.metadata;
      const page =
        run === undefined || metadata === undefined || another !== undefined
          ? "/runs"
          : pageOfRun(run.dialect.name, metadata.namespace ?? "default", metadata.name);
      const { link } = await place.link(page);
      const isOpen = out.isTerminal && (await openBrowser(link, environment));
      err.write(`slipway: ${isOpen ? "opening the browser; if it shows nothing, open" : "web UI:"} ${link}\n`);
      err.write("slipway: the certificate is the server's own: continue when the browser warns\n");
    },
    async stay(code) {
      if (!place.isOwn || signal.aborted) return;
      err.write("slipway: the web UI stays open; press Ctrl-C to end it\n");
      await aborted(signal);
      process.exitCode = code;
    },
    close: () => place.close(),
  };
}
