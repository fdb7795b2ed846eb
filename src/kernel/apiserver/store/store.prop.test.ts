import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { memoryStore, openStore } from "./open.ts";
import type { Page, Store, StoreEvent } from "./store.ts";
import { items, keyOf, objectOf, states, withDirectory } from "./testing/store-objects.ts";

// Random histories against a model that keeps the whole state of every revision.

const names = ["a", "b", "c", "d", "e", "f", "g"];
const namespaces = ["one", "two"];

const change = fc.record({
  namespace: fc.constantFrom(...namespaces),
  name: fc.constantFrom(...names),
  isDelete: fc.boolean(),
});
/** Changes of one write; `fails` throws after them. Writes of one burst are begun without waiting. */
const write = fc.record({
  changes: fc.array(change, { minLength: 1, maxLength: 4 }),
  fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const history = fc.array(fc.array(write, { minLength: 1, maxLength: 6 }), { maxLength: 12 });
type History = readonly (readonly { readonly changes: readonly Change[]; readonly fails: boolean }[])[];
interface Change {
  readonly namespace: string;
  readonly name: string;
  readonly isDelete: boolean;
}

type State = ReadonlyMap<string, string>;

/** Runs a history on a store, and returns the state after each revision, as `namespace/name` to `name=value@revision`. */
async function run(store: Store, bursts: History, between: () => Promise<void>): Promise<readonly State[]> {
  const model: State[] = [new Map()];
  for (const burst of bursts) {
    const writes = burst.map(async ({ changes, fails }) => {
      const steps: State[] = [];
      const outcome = store.write((transaction) => {
        for (const { namespace, name, isDelete } of changes) {
          const key = keyOf(name, namespace);
          const before = steps.at(-1) ?? model.at(-1) ?? new Map<string, string>();
          const next = new Map(before);
          const id = `${namespace}/${name}`;
          const revision = model.length + steps.length;
          expect(transaction.head(key) !== undefined).toBe(before.has(id));
          if (!isDelete) {
            transaction.put(key, objectOf(key, revision));
            next.set(id, `${name}=${revision}@${revision}`);
          } else if (before.has(id)) {
            transaction.remove(key);
            next.delete(id);
          } else continue;
          steps.push(next);
        }
        if (fails) throw new Error("on purpose");
        model.push(...steps);
      });
      await (fails ? expect(outcome).rejects.toThrow("on purpose") : outcome);
    });
    await Promise.all(writes);
    await between();
  }
  return model;
}

const listed = (state: State, namespace?: string): readonly string[] =>
  [...state]
    .filter(([id]) => namespace === undefined || id.startsWith(`${namespace}/`))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text);

function assertAgrees(store: Store, model: readonly State[]): void {
  expect(store.revision).toBe(model.length - 1);
  for (let revision = store.compactedRevision; revision < model.length; revision++) {
    const state = model[revision] ?? new Map<string, string>();
    expect(states(store.page(items, { revision }).entries)).toEqual(listed(state));
    expect(states(store.page(items, { revision, namespace: "two" }).entries)).toEqual(listed(state, "two"));
    expect(replayed(store, revision, state)).toEqual(model.at(-1));
  }
  for (const namespace of namespaces) {
    expect(store.count(items, namespace)).toBe(listed(model.at(-1) ?? new Map<string, string>(), namespace).length);
  }
}

/** A listing at a revision, brought up to date by the watch that begins there. */
function replayed(store: Store, revision: number, listing: State): State {
  const state = new Map(listing);
  let last = revision;
  const apply = (events: readonly StoreEvent[]): void => {
    for (const { type, entry, previous, revision: at } of events) {
      expect(at).toBeGreaterThan(last);
      last = at;
      const id = `${entry.key.namespace}/${entry.key.name}`;
      expect(previous === undefined ? undefined : states([previous])[0]).toBe(state.get(id));
      expect(type === "add").toBe(previous === undefined);
      if (type === "delete") state.delete(id);
      else state.set(id, states([entry])[0] ?? "");
    }
  };
  store.subscribe(items, revision, apply).close();
  return state;
}

describe("any history of writes", () => {
  test("leaves a store whose every revision can be listed, and watched from", async () => {
    await fc.assert(
      fc.asyncProperty(history, async (bursts) => {
        const store = memoryStore();
        assertAgrees(store, await run(store, bursts, () => Promise.resolve()));
        await store.close();
      }),
      { numRuns: runs(150) },
    );
  });

  test("is the same after closing and opening, whatever was compacted in between", async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat({ max: 6 }), async (bursts, minEvents) => {
        await withDirectory(async (directory) => {
          const clock = new FakeClock();
          const options = { clock, retention: { minEvents, looks: 1 } };
          const store = await openStore(directory, options);
          const model = await run(store, bursts, () => clock.advance(30_000));
          assertAgrees(store, model);
          await store.close();
          const again = await openStore(directory, options);
          expect(again.compactedRevision).toBe(store.compactedRevision);
          assertAgrees(again, model);
          await again.close();
        });
      }),
      { numRuns: runs(25) },
    );
  });

  test("may go on while a listing is read page by page: all pages show its revision", async () => {
    await fc.assert(
      fc.asyncProperty(history, history, fc.integer({ min: 1, max: 3 }), async (before, meanwhile, limit) => {
        const store = memoryStore();
        await run(store, before, () => Promise.resolve());
        const { revision } = store;
        const whole = states(store.page(items, {}).entries);
        const found: string[] = [];
        const pages = [...meanwhile];
        let page: Page = store.page(items, { limit });
        for (;;) {
          found.push(...states(page.entries));
          expect([page.revision, page.remaining]).toEqual([revision, whole.length - found.length]);
          if (page.next === undefined) break;
          // A model of its own would repeat the first test; here only the pages matter.
          await Promise.all(
            (pages.shift() ?? []).map(({ changes }) =>
              store.write((transaction) => {
                for (const { namespace, name, isDelete } of changes) {
                  const key = keyOf(name, namespace);
                  if (!isDelete) transaction.put(key, objectOf(key, "later"));
                  else if (transaction.head(key) !== undefined) transaction.remove(key);
                }
              }),
            ),
          );
          page = store.page(items, { revision, limit, after: page.next });
        }
        expect(found).toEqual(whole);
        await store.close();
      }),
      { numRuns: runs(150) },
    );
  });
});
