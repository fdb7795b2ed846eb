import { Masker } from "#kernel/streams/index.ts";
import { type KubeObject, maskAnnotation } from "#kernel/model/index.ts";

// Values to mask in logs. The protocol has no field for their names, so a variable of the action carries them; foreign
// agents pass it to the container, where it means nothing.

/** Comma-separated names of variables to mask. */
export const maskVariable = "SLIPWAY_MASK_ENV";

type Env = Readonly<Record<string, string>>;

const namesIn = (text: string): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

export const masksOf = ({ metadata }: KubeObject): readonly string[] =>
  namesIn(metadata.annotations?.[maskAnnotation] ?? "");

/** Adds the variable; unchanged without names. */
export function withMasks(env: Env, names: readonly string[]): Env {
  if (names.length === 0) return env;
  const all = new Set([...maskedNames(env), ...names]);
  return { ...env, [maskVariable]: [...all].join(",") };
}

export const maskedNames = (env: Env): readonly string[] => namesIn(env[maskVariable] ?? "");

export const maskedValues = (env: Env): readonly string[] => maskedNames(env).flatMap((name) => env[name] ?? []);

export function withoutMasks(env: Env): Env {
  const { [maskVariable]: _names, ...own } = env;
  return own;
}

/** Replaces those values by `***`. */
export function masked(text: string, env: Env): string {
  const values = maskedValues(env);
  if (values.length === 0) return text;
  const masker = new Masker(values);
  return Buffer.concat([masker.take(Buffer.from(text)), masker.end()]).toString();
}
