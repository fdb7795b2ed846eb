import type { CuePackages } from "#kernel/template/index.ts";
import { cueSources } from "./cue-sources.ts";

/** What templates may import: `vela/*` as in KubeVela, and `slipway/*`. */
export const velaPackages = async (): Promise<CuePackages> => (await cueSources()).packages;

/** The actions that packages declare, as `provider/do`, sorted. */
export async function knownActions(): Promise<readonly string[]> {
  const declared = /#do: +"([^"]+)", #provider: +"([^"]+)"/g;
  const texts = Object.values(await velaPackages());
  const found = texts.flatMap((text) =>
    [...text.matchAll(declared)].map(([, action, provider]) => `${provider}/${action}`),
  );
  return [...new Set(found)].toSorted();
}
