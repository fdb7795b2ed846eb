import { SlipwayError } from "#lib/base/index.ts";
import type { SecureOwner, SecureParams } from "../accounts.ts";
import type { World } from "../world.ts";
import { keyPairOf, open, publicKeyText } from "./box.ts";

export interface SecureParamsOptions {
  readonly world: World;
  /** 32 bytes that open the values of this object, made on first use. */
  readonly sealKey: (collection: SecureOwner, key: string) => Promise<Uint8Array>;
}

const owners: readonly SecureOwner[] = ["machines", "profiles", "stages", "plugins"];

/** Rejections say whose value it was, never what was in it. */
export const createSecureParams = ({ world, sealKey }: SecureParamsOptions): SecureParams => ({
  async publicKey(owner, key) {
    return publicKeyText(keyPairOf(await sealKey(owner, key)));
  },
  async open(owner, sealed) {
    let reason = "it has no key";
    // A profile and a stage may have the same name; only one key fits.
    for (const collection of owners) {
      if (world.get(collection, owner) === undefined) continue;
      const opened = open(await sealKey(collection, owner), sealed);
      if (opened.ok) return opened.value;
      reason = opened.error;
    }
    throw new SlipwayError("rebar-sealed", `a secure param of ${owner} cannot be opened: ${reason}`);
  },
});
