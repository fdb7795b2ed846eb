import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, CandidateSource, Measured } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { line, lineBytes, linesOfChunk } from "../ours/log-lines.ts";
import type { LoggedAction } from "../ours/log-server.ts";

const perLine = "message a line";
const ours = "server";

/** Logs that agents send: into files, flushed before they are acknowledged. Sender and server have a core each where there are two. */
export const b9 = (environment: Environment): Benchmark => ({
  id: "B9",
  title: `log intake over the network, lines of ${lineBytes} bytes`,
  candidates: [lineByLine(environment), server(environment)],
  lines: [
    {
      metric: "lines/s, one agent",
      unit: "/s",
      better: "more",
      value: ({ ops, ms }: Measured) => (ops / ms) * 1000,
      ours,
      floor: perLine,
      hold: [{ to: perLine, ratio: 50 }],
    },
  ],
});

interface Sent {
  readonly lines: number;
  readonly ms: number;
}

const server = (environment: Environment): CandidateSource => ({
  name: ours,
  role: "ours",
  async start() {
    const own = environment.worker("ours/log-server", { isOurs: true });
    const load = environment.worker("load/log-push");
    const logged = await own.call<LoggedAction>("start", { dir: await environment.directory() });
    return {
      async measure(ms) {
        const window = await windowOf(own, () => load.call<Sent>("chunks", { ...logged, ms }));
        const last = await own.call<string>("lastLine", logged);
        if (`${last}\n` !== line(linesOfChunk - 1).toString()) throw new Error(`the file ends with ${last}`);
        return window;
      },
      close: async () => void (await Promise.all([load.close(), own.close()])),
    };
  },
});

const lineByLine = (environment: Environment): CandidateSource => ({
  name: perLine,
  role: "floor",
  async start() {
    const own = environment.worker("floors/line-server");
    const load = environment.worker("load/log-push");
    const { port } = await own.call<{ readonly port: number }>("start", { dir: await environment.directory() });
    let total = 0;
    return {
      async measure(ms) {
        const window = await windowOf(own, () => load.call<Sent>("lines", { port, ms }));
        total += window.ops;
        const kept = await own.call<number>("kept");
        if (kept !== total * lineBytes) throw new Error(`${kept} bytes of ${total} lines are in the file`);
        return window;
      },
      close: async () => void (await Promise.all([load.close(), own.close()])),
    };
  },
});

/** CPU is the server's. */
const windowOf = (own: WorkerProcess, send: () => Promise<Sent>): Promise<Measured> =>
  withCpu([own.pid], async () => {
    const { lines, ms } = await send();
    return { ops: lines, ms };
  });
