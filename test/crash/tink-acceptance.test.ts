import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { kubeconfigUnderTest } from "#test/support/cluster-under-test.ts";
import { rounds } from "#test/support/rounds.ts";
import { startEngine, type TestEngine, testImage } from "#test/support/docker-engine.ts";
import { Cell } from "./tink/cell.ts";
import { hold } from "./tink/holds.ts";
import { expectFree, expectOutcome } from "./tink/outcome.ts";
import { Site, type SiteOptions } from "./tink/site.ts";

// Lines of the acceptance list of Tinkerbell that take programs which are killed, frozen or two of a kind. Each has a server of its own, or the
// cluster under test to itself.

const describeEach = kubeconfigUnderTest === undefined ? describe.concurrent : describe;

async function onSite(options: SiteOptions, work: (site: Site) => Promise<void>): Promise<void> {
  const site = await Site.open(options);
  try {
    await work(site);
  } finally {
    await site.close();
  }
}

const untilLines = (cell: Cell, ...lines: readonly string[]) =>
  cell.until(`lines are ${lines.join(" ")}`, async () => (await cell.lines()).join() === lines.join());

describeEach("programs", () => {
  // A change is judged by this cell of the table of faults: a server that is killed while an action runs and ends.
  test.runIf(rounds(kubeconfigUnderTest !== undefined, true))(
    "line 17: a server that is killed during an action and comes back after five seconds records its result once",
    () =>
      onSite({}, async (site) => {
        const cell = await Cell.open(site, "node-17");
        await cell.run([cell.script("one", cell.waiting), cell.script("two")]);
        await untilLines(cell, "one");
        await site.server.kill();
        await sleep(systemClock, 5_000);
        await site.server.start();
        await cell.openGate();
        await expectOutcome(cell, { state: "SUCCESS", lines: ["one", "two"], attempts: [1, 1] });
        expect((await cell.status()).dispatch?.attempt).toBe(1);
        await expectFree(cell);
      }),
  );

  test("line 18: a server that is killed right after the write of Scheduled delivers the workflow when it is back, and it runs once", () =>
    onSite({}, async (site) => {
      const cell = await Cell.open(site, "node-18");
      await hold(site.holds, cell.name, "scheduled", "die");
      await cell.until("connected", () => cell.isConnected());
      await cell.run([cell.script("one"), cell.script("two")]);
      await site.server.ends();
      expect(await cell.lines()).toEqual([]);
      await cell.releaseAll();
      await site.server.start();
      await expectOutcome(cell, { state: "SUCCESS", lines: ["one", "two"], attempts: [1, 1] });
      expect((await cell.status()).dispatch?.attempt).toBe(2);
      await expectFree(cell);
    }));

  test("line 31: an agent that is frozen is told of as disconnected, and goes on where it was when it thaws", () =>
    onSite({ keepalive: { time: 1_000, timeout: 1_000 } }, async (site) => {
      const cell = await Cell.open(site, "node-31");
      await cell.run([cell.script("one", cell.waiting), cell.script("two")]);
      await untilLines(cell, "one");
      cell.machine.signal("SIGSTOP");
      // The state first: on a busy machine an agent may have been late with an answer before, which left an event.
      await cell.until("away", async () => !(await cell.isConnected()));
      await cell.until("told", async () => (await cell.agentEvents()).includes("AgentDisconnected"));
      expect((await cell.status()).state).toBe("RUNNING");
      await cell.openGate();
      cell.machine.signal("SIGCONT");
      await expectOutcome(cell, { state: "SUCCESS", lines: ["one", "two"], attempts: [1, 1] });
      await expectFree(cell);
    }));

  test("an agent that is cut off for longer than it may be has failed its workflow, which another machine does not take up", () =>
    onSite({ keepalive: { time: 1_000, timeout: 1_000 }, settings: { agentLostTimeout: 3_600_000 } }, async (site) => {
      const cell = await Cell.open(site, "node-lost");
      await cell.run([cell.script("one", cell.waiting), cell.script("two")]);
      await untilLines(cell, "one");
      await cell.machine.cable.cut();
      await cell.until("waited for", async () => (await cell.status()).deadlines?.["agent"] !== undefined);
      // On a busy machine it may have been late with an answer before, and be taken back when it is there again.
      await cell.until("failed", async () => {
        if (!(await cell.isConnected())) await cell.expireAll();
        return (await cell.status()).state === "FAILED";
      });
      await cell.replaceMachine();
      await expectOutcome(cell, { state: "FAILED", reason: "AgentLost", lines: ["one"], attempts: [1, 0] });
      await expectFree(cell);
    }));

  test("line 32: of two agents with one id the newer one gets the commands, and the connection of the first is aborted", () =>
    onSite({}, async (site) => {
      const cell = await Cell.open(site, "node-32");
      const first = cell.machine;
      await cell.until("connected", () => cell.isConnected());
      // It would come back at once, and be the newer one.
      first.signal("SIGSTOP");
      await cell.replaceMachine();
      await cell.until("replaced", () => cell.machine.said.join("").includes("connected to the server"));
      await cell.run([cell.script("one")]);
      await expectOutcome(cell, { state: "SUCCESS", lines: ["one"], attempts: [1] });
      expect(cell.machine.said.join("")).toContain("preparing an action");
      first.signal("SIGCONT");
      await cell.until("aborted", () => first.said.join("").includes("superseded by a newer connection"));
      expect(first.said.join("")).not.toContain("preparing an action");
    }));
});

describeEach("containers", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    // Its containers have no network, and a daemon that starts would remove the rules of another engine for a moment.
    engine = await startEngine("--iptables=false");
  });
  afterAll(() => engine.stop());

  /** The engine of tests has no bridge; the image has no entrypoint. */
  const inContainer = (cell: Cell, script: string) => ({
    image: testImage,
    command: ["/bin/sh", "-c", script],
    namespaces: { network: "none" },
    volumes: [`${cell.site.directory}:${cell.site.directory}`],
  });
  const containersOf = async (cell: Cell) =>
    (await engine.docker("ps", "-q", "--no-trunc", "--filter", `label=slipway.dev/agent-id=${cell.name}`)).out.trim();

  test("line 19: the container of an agent that was killed is attached to again, and its exit code is the result", () =>
    onSite({}, async (site) => {
      const cell = await Cell.open(site, "node-19", engine);
      await cell.run([inContainer(cell, `${cell.script("one", cell.waiting)}; exit 7`)]);
      await untilLines(cell, "one");
      const container = await containersOf(cell);
      expect(container).toMatch(/^[0-9a-f]{64}$/);
      await cell.machine.kill();
      cell.machine.start(engine);
      await cell.until("resumed", () => cell.machine.said.join("").split("connected to the server").length > 2);
      expect(await containersOf(cell)).toBe(container);
      await cell.openGate();
      await expectOutcome(cell, { state: "FAILED", reason: "NonZeroExit", lines: ["one"], attempts: [1] });
      expect((await cell.status()).failureMessage).toContain("exit code 7");
      await expectFree(cell, inContainer(cell, "true"));
    }));

  test("line 20: an action whose container went while its agent was down runs again, and fails as interrupted after the last attempt", () =>
    onSite({ settings: { maxActionAttempts: 3 } }, async (site) => {
      const cell = await Cell.open(site, "node-20", engine);
      await cell.run([inContainer(cell, cell.script("one", cell.waiting))]);
      for (const lines of [["one"], ["one", "one"], ["one", "one", "one"]]) {
        await untilLines(cell, ...lines);
        expect((await cell.status()).tasks?.[0]?.actions[0]).toMatchObject({
          state: "RUNNING",
          attempts: lines.length,
        });
        await cell.machine.kill();
        expect((await engine.docker("rm", "-f", await containersOf(cell))).code).toBe(0);
        cell.machine.start(engine);
      }
      await expectOutcome(cell, {
        state: "FAILED",
        reason: "ActionInterrupted",
        lines: ["one", "one", "one"],
        attempts: [3],
      });
      await expectFree(cell, inContainer(cell, "true"));
    }));
});
