import { err, ok, type Result } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { Provider, Providers } from "./provider.ts";

/** The implementation of an action, or why there is none. */
export function providerOf(providers: Providers, provider: string, action: string): Result<Provider, string> {
  const key = `${provider === "" ? "op" : provider}/${action}`;
  const found = Object.hasOwn(providers, key) ? providers[key] : undefined;
  if (found !== undefined) return ok(found);
  const near = nearest(key, Object.keys(providers), 4);
  const hint = near === undefined ? "" : `; nearest: "${near}"`;
  return err(`action "${key}" is not known${hint}`);
}
