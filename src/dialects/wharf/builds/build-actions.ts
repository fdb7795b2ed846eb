import { type ApiClient, getOrUndefined, type Lister, refTo } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { Instant } from "#lib/base/index.ts";
import { actionsFor, answer, openActions, RunAction } from "#kernel/dialect/index.ts";
import { isOver, wordOf } from "../state.ts";
import { Build } from "../kinds.ts";

interface ActionParts {
  readonly client: ApiClient;
  readonly actions: Lister<RunAction>;
  readonly build: Stored<Build>;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/**
 * Answers RunActions of a build, oldest first. A cancel is stored in the spec before the answer, so that a crash in
 * between is harmless. True if the build was changed.
 */
export async function answerActions(parts: ActionParts): Promise<boolean> {
  const { client, build, now, signal } = parts;
  let isChanged = false;
  for (const seen of openActions(actionsFor(parts.actions, Build, keyOf(build.metadata)))) {
    // The mirror may lag behind this process.
    const action = await getOrUndefined<RunAction>(client, refTo(RunAction, seen), signal);
    if (action === undefined || openActions([action]).length === 0) continue;
    const { phase, message } = judge(action, build);
    if (phase === "Done" && build.spec.cancel !== true && !isChanged && !isOver(wordOf(build))) {
      const body = { metadata: { uid: build.metadata.uid }, spec: { cancel: true } };
      await client.patch(refTo(Build, build), { type: "merge", body }, { signal });
      isChanged = true;
    }
    await answer(client, action, { phase, message }, now, signal);
  }
  return isChanged;
}

function judge(
  { spec }: RunAction,
  build: Stored<Build>,
): { readonly phase: "Done" | "Refused"; readonly message: string } {
  const { uid } = spec.target;
  if (uid !== undefined && uid !== build.metadata.uid)
    return { phase: "Refused", message: `the build of uid ${uid} is gone; another one has its name` };
  if (spec.action !== "cancel") return { phase: "Refused", message: `expected cancel: builds know no ${spec.action}` };
  const isAsked = build.spec.cancel === true;
  if (isOver(wordOf(build)) && !isAsked)
    return { phase: "Refused", message: `the build is ${wordOf(build)}; nothing of it can be canceled` };
  return { phase: "Done", message: isAsked ? "the build was asked to end before" : "cancel was carried out" };
}
