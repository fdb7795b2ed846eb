import { describe, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { Cell } from "./tink/cell.ts";
import { expectFree, expectOutcome } from "./tink/outcome.ts";
import { Site, type SiteOptions } from "./tink/site.ts";
import { type StateCase, states } from "./tink/states.ts";
import { rounds } from "#test/support/rounds.ts";

// A workflow in every state it can be in, and then one thing that breaks: a program that is killed, the network that is cut. Each state has a
// machine of its own, and all of them one server, for each thing that breaks. The machines are namespaces of this kernel; the agents are the
// program a user starts.

type Place = readonly (readonly [StateCase, Cell])[];

/** What breaks, and what comes back. Resolves when everything is there again. */
interface Fault {
  readonly name: string;
  readonly options?: SiteOptions;
  happen(site: Site, place: Place): Promise<void>;
}

const each = (place: Place, work: (cell: Cell) => Promise<void>) => Promise.all(place.map(([, cell]) => work(cell)));
/** Agents come back more and more slowly, so that everything is away for less than their longest wait. */
const away = () => sleep(systemClock, 2_000);
/** Actions end while nobody is there to be told. */
const openGates = (place: Place) => each(place, (cell) => cell.openGate());
/** What the server that is gone has waited for is no concern of the next. */
const releaseAll = (place: Place) => each(place, (cell) => cell.releaseAll());

const faults: readonly Fault[] = [
  {
    name: "the server is killed",
    async happen(site, place) {
      await site.server.kill();
      await releaseAll(place);
      await away();
      await site.server.start();
    },
  },
  {
    name: "the server is killed and actions end meanwhile",
    async happen(site, place) {
      await site.server.kill();
      await releaseAll(place);
      await openGates(place);
      await away();
      await site.server.start();
    },
  },
  {
    name: "the agent is killed",
    async happen(_site, place) {
      await each(place, (cell) => cell.machine.kill());
      await away();
      await each(place, async (cell) => cell.machine.start());
    },
  },
  {
    name: "both are killed",
    async happen(site, place) {
      await site.server.kill();
      await each(place, (cell) => cell.machine.kill());
      await releaseAll(place);
      await each(place, async (cell) => cell.machine.start());
      await away();
      await site.server.start();
    },
  },
  {
    name: "the network is cut for a moment",
    async happen(_site, place) {
      await each(place, (cell) => cell.machine.cable.cut());
      await openGates(place);
      await sleep(systemClock, 5_000);
      await each(place, (cell) => cell.machine.cable.heal());
    },
  },
  {
    name: "the network is cut until the server has given the connection up",
    options: { keepalive: { time: 1_000, timeout: 1_000 } },
    async happen(_site, place) {
      await each(place, (cell) => cell.machine.cable.cut());
      await each(place, (cell) => cell.until("seen as not connected", async () => !(await cell.isConnected())));
      await each(place, (cell) => cell.machine.cable.heal());
    },
  },
];

/** Time that is over by itself is no fault of these: on a machine that is busy with so many programs it would be sooner than they are told. */
const settings: SiteOptions["settings"] = {
  rejectBackoff: { base: 1_000, max: 4_000, jitter: 0.2 },
  scheduledTimeout: 3_600_000,
  cancellingTimeout: 3_600_000,
};

/**
 * Every state meets every fault in the long form. A change is judged by every eighth state of each of the eight faults, so that each state meets
 * one of them. SLIPWAY_CRASH_STATES names the states to try instead.
 */
async function openPlace(site: Site, fault: number): Promise<Place> {
  const only = process.env["SLIPWAY_CRASH_STATES"]?.split(",");
  const chosen = states.filter(({ name }, at) => only?.includes(name) ?? rounds((at + fault + 5) % 8 === 0, true));
  return Promise.all(chosen.map(async (state) => [state, await Cell.open(site, state.name)] as const));
}

/** It has ended when all times are over, or waits; then people can see for what: nobody is connected. */
async function expectWaiting(cell: Cell, { state, reason }: StateCase["apart"]): Promise<void> {
  await cell.until(`it is ${state} without its agent`, async () => {
    const status = await cell.status();
    const isOver = reason === undefined || (status.failureReason === reason && status.dispatch?.held !== true);
    if (!isOver) await cell.expireAll();
    return status.state === state && isOver && !(await cell.isConnected());
  });
  expect((await cell.status()).failureReason, await cell.tell()).toBe(reason);
}

async function goOn(state: StateCase, cell: Cell): Promise<void> {
  await cell.releaseAll();
  await cell.openGate();
  await state.goOn?.(cell);
}

/** Opens a server and its machines, each with its workflow in its state; closes them when `work` is over. */
async function inAllStates(
  fault: number,
  options: SiteOptions,
  work: (site: Site, place: Place) => Promise<void>,
): Promise<void> {
  const site = await Site.open(options);
  try {
    const place = await openPlace(site, fault);
    await Promise.all(place.map(([state, cell]) => state.begin(cell)));
    await work(site, place);
  } finally {
    await site.close();
  }
}

describe.concurrent("a workflow in any state", () => {
  test.each(faults.map((fault, at) => [fault.name, fault, at] as const))("%s", (_name, fault, at) =>
    inAllStates(at, { ...fault.options, settings }, async (site, place) => {
      await fault.happen(site, place);
      await Promise.all(
        place.map(async ([state, cell]) => {
          await goOn(state, cell);
          await expectOutcome(cell, state.outcome);
          await expectFree(cell);
        }),
      );
    }),
  );

  test("the machine loses its power", () =>
    inAllStates(faults.length, { settings }, async (_site, place) => {
      await each(place, (cell) => cell.machine.powerOff());
      await away();
      await each(place, async (cell) => cell.machine.start());
      await Promise.all(
        place.map(async ([state, cell]) => {
          await goOn(state, cell);
          await expectOutcome(cell, state.interrupted ?? state.outcome);
          await expectFree(cell);
        }),
      );
    }));

  test("the network is cut for ever, and another machine takes the place of the one that is lost", () =>
    inAllStates(faults.length + 1, { keepalive: { time: 1_000, timeout: 1_000 }, settings }, async (_site, place) => {
      await each(place, (cell) => cell.machine.cable.cut());
      // Until then the server would tell it of whatever comes next, in vain.
      await each(place, (cell) => cell.until("seen as not connected", async () => !(await cell.isConnected())));
      await Promise.all(
        place.map(async ([state, cell]) => {
          await cell.releaseAll();
          await state.goOn?.(cell);
          const { apart } = state;
          await expectWaiting(cell, apart);
          await cell.replaceMachine();
          await cell.openGate();
          await expectOutcome(cell, state.replaced ?? state.interrupted ?? state.outcome);
          await expectFree(cell);
        }),
      );
    }));
});
