import { formatTime, inParallel, type Instant, type JsonObject, messageOf, recover } from "#lib/base/index.ts";
import { type ChildFact, type GrantFact, stepState } from "#engine/index.ts";
import { ensureDeleted } from "#kernel/kit/index.ts";
import { apiVersionOf, isAlreadyExists } from "#kernel/model/index.ts";
import { type CacheKey, cacheKeyOf } from "../cache/key.ts";
import { CacheEntry } from "../cache/kind.ts";
import { notices } from "../messages.ts";
import type { Attempt, Finding } from "../steps/executor.ts";
import type { PassState } from "./attempts.ts";
import type { Pass } from "./pass.ts";

export interface StepResult {
  readonly attempt: Attempt;
  readonly key: CacheKey;
  readonly outputs: JsonObject | undefined;
  readonly artifacts: JsonObject | undefined;
}

const width = 16;

/** The result of a successful attempt; none if its inputs changed while it ran. */
export function resultsOf(
  attempt: Attempt,
  finding: Finding | undefined,
  fact: ChildFact | GrantFact | undefined,
): readonly StepResult[] {
  if (finding?.is !== "child" || finding.cacheKey === undefined) return [];
  if (fact?.kind !== "child" || fact.state.is !== "succeeded") return [];
  const key = cacheKeyOf(attempt);
  if (!key.ok || key.value?.name !== finding.cacheKey) return [];
  return [{ attempt, key: key.value, outputs: fact.state.outputs, artifacts: fact.state.artifacts }];
}

/** Stores results after the status that reports them. A failure is reported and does not fail the step. */
export async function keepResults(pass: Pass, { run, now }: PassState, results: readonly StepResult[]): Promise<void> {
  const kept = results.filter(({ attempt: { step, item, round } }) => {
    const state = stepState(run, step.key);
    return item !== undefined || (state.phase === "Succeeded" && state.attempt === round);
  });
  await inParallel(
    kept,
    async (result) => {
      try {
        await replaceEntry(pass, entryOf(result, now));
      } catch (thrown) {
        if (pass.signal.aborted) return;
        pass.record(pass.workflow, notices.notCached(result.attempt.step.key, messageOf(thrown)));
      }
    },
    width,
  );
}

function entryOf({ attempt, key, outputs, artifacts }: StepResult, now: Instant): CacheEntry {
  const { workflow, step, item } = attempt;
  const { name, uid, namespace } = workflow.metadata;
  return {
    apiVersion: apiVersionOf(CacheEntry),
    kind: CacheEntry.kind,
    metadata: { name: key.name, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      from: { workflow: name, uid, step: step.key, ...(item === undefined ? {} : { item: item.index }) },
      storedTime: formatTime(now),
      ...(key.key === undefined ? {} : { key: key.key }),
      inputs: key.inputs,
      ...(outputs === undefined ? {} : { outputs }),
      ...(artifacts === undefined ? {} : { artifacts }),
    },
  };
}

/** Entries are immutable: an older one is deleted first. Of two concurrent ones either will do. */
async function replaceEntry({ client, cacheEntries, signal }: Pass, entry: CacheEntry): Promise<void> {
  const { name = "", namespace } = entry.metadata;
  const old = cacheEntries.get(namespace === undefined ? name : `${namespace}/${name}`);
  if (old !== undefined) await ensureDeleted(client, CacheEntry, old, { signal });
  await client.create<CacheEntry>(CacheEntry, entry, { signal }).catch(recover(isAlreadyExists, undefined));
}
