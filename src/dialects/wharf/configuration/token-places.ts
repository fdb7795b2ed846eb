// Settings come from places that do not trust each other. A token is only sent to the address it was set with, and
// the file of a directory cannot name token files.

import { dirname, resolve } from "node:path";
import { createReporter } from "../definition/diagnostics.ts";
import type { Configuration, Key } from "./keys.ts";
import type { Layer } from "./layer.ts";

const services = [
  ["aggregator.wharfApiUrl", "aggregator.wharfApiTokenFile"],
  ["aggregator.provisionerUrl", "aggregator.provisionerTokenFile"],
  ["watchdog.wharfApiUrl", "watchdog.wharfApiTokenFile"],
  ["watchdog.provisionerUrl", "watchdog.provisionerTokenFile"],
] as const satisfies readonly (readonly [Key, Key])[];

/** Paths of token files are relative to the settings file. */
export const withTokensBeside = (configuration: Configuration, file: string): Configuration => ({
  ...configuration,
  ...Object.fromEntries(
    services.flatMap(([, tokenFile]) => {
      const named = configuration[tokenFile];
      return named === undefined ? [] : [[tokenFile, resolve(dirname(file), named)]];
    }),
  ),
});

/**
 * Removes tokens that must not be sent to the winning address. A token without any address is kept: it is for this
 * user's own server.
 */
export function withOwnTokens(layers: readonly Layer[]): readonly Layer[] {
  const dropped = new Map<Layer, Key[]>();
  const findings = layers.map((layer) => createReporter(layer.file));
  const drop = (layer: Layer, key: Key): void => void dropped.set(layer, [...(dropped.get(layer) ?? []), key]);
  for (const [url, tokenFile] of services) {
    const addressAt = layers.findLastIndex(({ configuration }) => configuration[url] !== undefined);
    for (const [at, layer] of layers.entries()) {
      if (layer.configuration[tokenFile] === undefined) continue;
      if (layer.isOfDirectory === true) {
        const message = `${layer.file} may be somebody else's, and names no file of a token`;
        const hint = `set it beside ${url} in the file of the user, or name that file in WHARF_CONFIG`;
        findings[at]?.error({ scope: tokenFile }, "token-place", message, { hint });
        drop(layer, tokenFile);
      } else if (addressAt > at) {
        const message = `the token of ${layer.file} is not brought to the address of ${layers[addressAt]?.file}`;
        findings[at]?.warn({ scope: tokenFile }, "token-place", message);
        drop(layer, tokenFile);
      } else if (addressAt !== -1 && addressAt < at) {
        const message = `the token of ${layer.file} would go to the address of ${layers[addressAt]?.file}`;
        findings[at]?.error({ scope: tokenFile }, "token-place", message, { hint: `set ${url} beside it` });
        drop(layer, tokenFile);
      }
    }
  }
  return layers.map((layer, at) => ({
    ...layer,
    configuration: without(layer.configuration, dropped.get(layer) ?? []),
    diagnostics: [...layer.diagnostics, ...(findings[at]?.diagnostics() ?? [])],
  }));
}

const without = (configuration: Configuration, keys: readonly Key[]): Configuration =>
  Object.fromEntries(Object.entries(configuration).filter(([key]) => !keys.some((one) => one === key)));
