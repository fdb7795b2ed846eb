import { link, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import {
  flushDirectory,
  type ProcessIdentity,
  identityOf,
  readIdentity,
  readTextIfPresent,
  replaceFile,
} from "#lib/base/index.node.ts";
import { parseJson } from "#lib/json/index.ts";
import type { EffectAnswer, OutsideRequest } from "./courier.ts";

// What a server and its couriers share: three files for each effect, in a private directory.
//
//   ID.request  what to do, removed by the courier once it is taken
//   ID.taken    the courier that does it; exists from before the first byte is sent, so that it is never done twice
//   ID.answer   how it ended

export interface CourierOrder {
  readonly request: OutsideRequest;
  readonly denied: readonly string[];
}

const pathOf = (directory: string, effect: string, part: "request" | "taken" | "answer"): string =>
  join(directory, `${effect}.${part}`);

export const writeOrder = (directory: string, effect: string, order: CourierOrder): Promise<void> =>
  replaceFile(pathOf(directory, effect, "request"), JSON.stringify(order));

async function readJsonFile(path: string): Promise<JsonValue | undefined> {
  const text = await readTextIfPresent(path);
  const parsed = text === undefined ? undefined : parseJson(text);
  return parsed?.ok === true ? parsed.value : undefined;
}

/** Only this program writes the file, as a whole. */
export const readOrder = async (directory: string, effect: string): Promise<CourierOrder | undefined> =>
  (await readJsonFile(pathOf(directory, effect, "request"))) as CourierOrder | undefined;

export const removeOrder = (directory: string, effect: string): Promise<void> =>
  rm(pathOf(directory, effect, "request"), { force: true });

/** False if another courier has it, or had it. Durable when it resolves. */
export async function take(directory: string, effect: string): Promise<boolean> {
  const path = pathOf(directory, effect, "taken");
  const own = `${path}.${process.pid}`;
  // A link appears with its whole content.
  await writeFile(own, JSON.stringify(identityOf(process.pid)), { mode: 0o600, flush: true });
  try {
    await link(own, path);
    await flushDirectory(directory);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw thrown;
  } finally {
    await rm(own, { force: true });
  }
}

/** Undefined if nobody has begun; no pid if the file is unreadable. */
export async function takenBy(directory: string, effect: string): Promise<ProcessIdentity | undefined> {
  const text = await readTextIfPresent(pathOf(directory, effect, "taken"));
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  return (parsed.ok ? readIdentity(parsed.value) : undefined) ?? { pid: 0, startTicks: "0", boot: "none" };
}

export const writeAnswer = (directory: string, effect: string, answer: EffectAnswer): Promise<void> =>
  replaceFile(pathOf(directory, effect, "answer"), JSON.stringify(answer));

export async function readAnswer(directory: string, effect: string): Promise<EffectAnswer | undefined> {
  const found = await readJsonFile(pathOf(directory, effect, "answer"));
  return isJsonObject(found) ? (found as unknown as EffectAnswer) : undefined;
}

export async function removeEffect(directory: string, effect: string): Promise<void> {
  // The proof that it was begun goes last.
  for (const part of ["request", "answer", "taken"] as const)
    await rm(pathOf(directory, effect, part), { force: true });
}

/** Removes what nobody came for. */
export async function sweep(directory: string, before: number): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!/\.(?:request|taken|answer)(?:\.\w+)?$/.test(name)) continue;
    const path = join(directory, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
  }
}
