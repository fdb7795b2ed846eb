import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";

// Addresses that actions must not reach, such as metadata services of clouds. Checked on the addresses that are
// connected to, so that no name leads around it.

export class EgressRules {
  readonly #blocked = new BlockList();
  readonly #resolve: typeof systemLookup;

  /** CIDR blocks; unreadable ones are refused when settings are read. */
  constructor(denied: readonly string[], resolve = systemLookup) {
    this.#resolve = resolve;
    for (const block of denied) {
      const [address = "", bits = ""] = block.split("/");
      const family = isIPv6(address) ? "ipv6" : "ipv4";
      if (isIP(address) > 0)
        this.#blocked.addSubnet(address, Number(bits === "" ? (family === "ipv6" ? 128 : 32) : bits), family);
    }
  }

  isDenied(address: string): boolean {
    const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
    if (mapped !== undefined) return this.#blocked.check(mapped, "ipv4");
    return this.#blocked.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }

  /** Undefined, or why a host may not be connected to. Names are checked when they are resolved. */
  refusal(host: string): string | undefined {
    const bare = host.replace(/^\[|\]$/g, "");
    return isIP(bare) > 0 && this.isDenied(bare) ? deniedText(bare) : undefined;
  }

  /** An address of a host that may be connected to. Rejects if the host has one that may not, or none. */
  addressOf(host: string): Promise<string> {
    const bare = host.replace(/^\[|\]$/g, "");
    const refusal = this.refusal(bare);
    return new Promise((resolve, reject) => {
      if (refusal !== undefined) return reject(new Error(refusal));
      this.lookup(bare, {}, (failure, address) =>
        failure === null && typeof address === "string" ? resolve(address) : reject(failure ?? new Error("no address")),
      );
    });
  }

  readonly lookup: LookupFunction = (host, options, done) => {
    this.#resolve(host, { ...options, all: true }, (failure, addresses) => {
      if (failure !== null) return done(failure, "", 0);
      const denied = addresses.find(({ address }) => this.isDenied(address));
      if (denied !== undefined) return done(new Error(deniedText(denied.address)), "", 0);
      const [first] = addresses;
      if (options.all === true) return done(null, addresses);
      done(null, first?.address ?? "", first?.family);
    });
  };
}

const deniedText = (address: string): string => `address ${address} is denied by EgressDeny`;
