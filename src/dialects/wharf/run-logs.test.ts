import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { LogRequest } from "#kernel/streams/index.ts";
import type { Build } from "./kinds.ts";
import type { LogStore } from "./log-store/log-store.ts";
import { inDirectory, lineOf, linesOf, withStore } from "./log-store/testing/log-lines.ts";
import { openBuildLog } from "./run-logs.ts";

const build = {
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind: "Build",
  metadata: { name: "nightly", namespace: "default" },
  spec: { project: "web", buildId: 7, stage: "ALL" },
  status: {
    stages: [{ stageId: 1, name: "build", runsIf: "success", steps: [1, 2], status: "Running" }],
    steps: [
      { stepId: 1, stageId: 1, name: "web", status: "Running" },
      { stepId: 2, stageId: 1, name: "api", status: "Running" },
    ],
  },
} as unknown as Build;

/** A build whose end a test tells. */
class Ended {
  readonly #runs: (() => void)[] = [];
  hasEnded = false;
  readonly isOver = (): boolean => this.hasEnded;
  readonly onOver = (_buildId: number, run: () => void) => {
    this.#runs.push(run);
    return () => undefined;
  };
  end(): void {
    this.hasEnded = true;
    for (const run of this.#runs) run();
  }
}

const withLogs = (
  work: (read: (part: string, request?: LogRequest) => Promise<string>, store: LogStore, ended: Ended) => Promise<void>,
  of: Build = build,
) =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const ended = new Ended();
      const clock = new FakeClock(1_700_000_010_000);
      const open = openBuildLog({ logs: () => Promise.resolve(store), ended, clock });
      const read = async (part: string, request: LogRequest = {}) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of await open(of, part, request)) chunks.push(chunk);
        return Buffer.concat(chunks).toString();
      };
      await store.insert(7, [lineOf(2, 1), ...linesOf(1, 1, 3), { ...lineOf(0, 0), message: "before" }]);
      await work(read, store, ended);
    }),
  );

test.each([
  ["", {}, ["step 2 line 1", "step 1 line 1", "step 1 line 2", "step 1 line 3", "before"]],
  ["", { tailLines: 2 }, ["step 1 line 3", "before"]],
  ["1", {}, ["step 1 line 1", "step 1 line 2", "step 1 line 3"]],
  ["web", { tailLines: 1 }, ["step 1 line 3"]],
  ["build/web", { timestamps: true, tailLines: 1 }, ["2023-11-14T22:13:23.123456789Z step 1 line 3"]],
  ["web", { sinceSeconds: 7 }, ["step 1 line 3"]],
  ["web", { sinceTime: "2023-11-14T22:13:22.2Z" }, ["step 1 line 3"]],
  ["web", { tailLines: 0 }, []],
  ["0", {}, ["before"]],
  ["9", {}, []],
  ["web", { numbered: true, fromLine: 2 }, ["2", "2023-11-14T22:13:23.123456789Z - F step 1 line 3"]],
  ["web", { numbered: true, tailLines: 1 }, ["2", "2023-11-14T22:13:23.123456789Z - F step 1 line 3"]],
  ["0", { numbered: true, fromLine: 2 }, ["0", "2023-11-14T22:13:20.123456789Z - F before"]],
])("the log of the step %j with %j is %j", (part, request, lines) =>
  withLogs(async (read) => {
    expect(await read(part, request)).toBe(lines.map((line) => `${line}\n`).join(""));
  }),
);

test("what a request says no reader can have is refused, and bytes are cut where they are limited", () =>
  withLogs(async (read) => {
    expect(await read("web", { limitBytes: 6 })).toBe("step 1");
    await expect(read("wbe")).rejects.toThrow('"wbe" is no step of build "nightly", which has [web api]');
    await expect(read("web", { sinceTime: "yesterday" })).rejects.toThrow("sinceTime must be a time as of RFC 3339");
  }));

test("who follows a step, what was before it, or all of them, reads until the build has ended", () =>
  withLogs(async (read, store, ended) => {
    const following = ["web", "0", ""].map((part) => read(part, { follow: true }));
    await store.insert(7, [lineOf(1, 5), lineOf(2, 2), { ...lineOf(0, 0), message: "between" }, lineOf(1, 4)]);
    ended.end();
    const [web, first, all] = await Promise.all(following);
    expect(web).toBe(
      linesOf(1, 1, 5)
        .map(({ message }) => `${String(message)}\n`)
        .join(""),
    );
    expect(first).toBe("before\nbetween\n");
    expect(all?.split("\n")).toHaveLength(10);
    expect(await read("web", { follow: true, tailLines: 1 })).toBe("step 1 line 5\n");
  }));

test("lines that another wharf-api has are refused with that", () =>
  withLogs(
    async (read) => {
      const why = 'the log of build "nightly" is kept by a wharf-api that is not part of this server';
      await expect(read("")).rejects.toThrow(why);
    },
    { ...build, spec: { ...build.spec, buildId: 8 }, status: { ...build.status, logs: { lines: 3, bytes: 30 } } },
  ));
