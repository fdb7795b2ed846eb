import { Masker } from "#kernel/logs/index.ts";
import { type KubeObject, maskAnnotation } from "#kernel/model/index.ts";

// Values that are to be kept out of logs. The interface to agents has no word for them, so that their names go by a variable of the action: agents
// of other makers pass it on to the container, where it means nothing, and templates may set it themselves, whatever server they are for.

/** Names of variables whose values are kept out of an action's log, with commas between them. */
export const maskVariable = "SLIPWAY_MASK_ENV";

type Env = Readonly<Record<string, string>>;

const namesIn = (text: string): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** The names that a workflow's annotation has. */
export const masksOf = ({ metadata }: KubeObject): readonly string[] =>
  namesIn(metadata.annotations?.[maskAnnotation] ?? "");

/** The variables of an action, with the names among them; unchanged without names. */
export function withMasks(env: Env, names: readonly string[]): Env {
  if (names.length === 0) return env;
  const all = new Set([...maskedNames(env), ...names]);
  return { ...env, [maskVariable]: [...all].join(",") };
}

/** The variables of an action whose values are not to be seen. */
export const maskedNames = (env: Env): readonly string[] => namesIn(env[maskVariable] ?? "");

/** What those variables hold. */
export const maskedValues = (env: Env): readonly string[] => maskedNames(env).flatMap((name) => env[name] ?? []);

/** What the action itself gets. */
export function withoutMasks(env: Env): Env {
  const { [maskVariable]: _names, ...own } = env;
  return own;
}

/** A text with `***` in the place of those values. */
export function masked(text: string, env: Env): string {
  const values = maskedValues(env);
  if (values.length === 0) return text;
  const masker = new Masker(values);
  return Buffer.concat([masker.take(Buffer.from(text)), masker.end()]).toString();
}
