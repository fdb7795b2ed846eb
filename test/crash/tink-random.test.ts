import { expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { Cell } from "./tink/cell.ts";
import { expectFree } from "./tink/outcome.ts";
import { Site } from "./tink/site.ts";
import { rounds } from "#test/support/rounds.ts";

// Faults in any order, several at a time. Nothing that is killed or cut for a while makes an action run
// twice: what runs on a machine outlives its agent, and what a server has recorded outlives the server.

const seconds = rounds(4, 120);
const names = ["node-1", "node-2", "node-3", "node-4"];
const actions = ["one", "two", "three"];
/** Of each agent; enough for the whole time. */
const queue = Math.max(2, Math.ceil(seconds / 6));

const between = (from: number, to: number) => sleep(systemClock, from + Math.random() * (to - from));
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;

test(`in ${seconds} seconds of faults at random no action runs twice, and every workflow succeeds`, async () => {
  const site = await Site.open({
    keepalive: { time: 2_000, timeout: 1_000 },
    // Nothing fails for being slow: agents that are killed again and again on a busy machine begin late.
    settings: { scheduledTimeout: 3_600_000 },
  });
  try {
    const cells = await Promise.all(names.map((name) => Cell.open(site, name)));
    for (const cell of cells) {
      for (let at = 0; at < queue; at++)
        await cell.run(
          actions.map((name) => cell.script(`${at}-${name}`, `sleep 0.${1 + Math.floor(Math.random() * 8)}`)),
          `${cell.name}-${at}`,
        );
    }
    const over = systemClock.monotonic() + seconds * 1_000;
    const told: string[] = [];
    const repeat = async (fault: () => Promise<void>) => {
      while (systemClock.monotonic() < over) await fault();
    };
    await Promise.all([
      repeat(async () => {
        await between(500, 4_000);
        told.push(`${new Date().toISOString()} server killed`);
        await site.server.kill();
        await between(0, 2_000);
        await site.server.start();
      }),
      repeat(async () => {
        const { machine } = pick(cells);
        await between(100, 1_500);
        told.push(`${new Date().toISOString()} ${machine.id} killed`);
        await machine.kill();
        await between(0, 1_000);
        machine.start();
      }),
      repeat(async () => {
        const { machine } = pick(cells);
        await between(100, 2_000);
        told.push(`${new Date().toISOString()} ${machine.id} cut`);
        await machine.cable.cut();
        await between(100, 5_000);
        await machine.cable.heal();
      }),
    ]);
    for (const cell of cells) {
      for (let at = 0; at < queue; at++)
        await cell.until(`${at} succeeds`, async () => (await cell.status(`${cell.name}-${at}`)).state === "SUCCESS");
      // In the order in which they were prepared, which may be any; the sort keeps that of the actions of one.
      const lines = [...(await cell.lines())].sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
      const expected = Array.from({ length: queue }, (_, at) => actions.map((name) => `${at}-${name}`)).flat();
      expect(lines, `${told.join("\n")}\n${await cell.tell()}`).toEqual(expected);
      for (let at = 0; at < queue; at++)
        expect((await cell.status(`${cell.name}-${at}`)).tasks?.[0]?.actions.map(({ attempts }) => attempts)).toEqual([
          1, 1, 1,
        ]);
      await expectFree(cell);
    }
  } finally {
    await site.close();
  }
});
