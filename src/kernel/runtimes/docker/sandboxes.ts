import { isJsonObject, type JsonObject, type JsonValue, SlipwayError, keyedSerializer } from "#lib/base/index.ts";
import type { Sandbox } from "../contract.ts";
import { memoryVolume, type Owner, pauseContainer } from "./container-config.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { isRefusal } from "./engine/engine-errors.ts";
import { listOf, objectOf, textOf } from "./engine/members.ts";
import { ensurePauseImage } from "./images.ts";
import { labels, networkName, sandboxName } from "./names.ts";

// A sandbox is a container of the pause image on the server's own network. Tasks join its network namespace: they share
// one address, which stays while they come and go.

interface Opened {
  readonly sandbox: Sandbox;
  readonly address: string | undefined;
  readonly names: readonly string[];
}

interface Network {
  readonly name: string;
  readonly gateway: string | undefined;
}

/** Calls for different sandboxes run side by side, for the same one in turn. */
export class Sandboxes {
  readonly #engine: EngineClient;
  readonly #owner: Owner;
  /** Those known to run. */
  readonly #opened = new Map<string, Opened>();
  /** Addresses of sandboxes found running at the start, until they are opened again. */
  readonly #found = new Map<string, string>();
  readonly #inTurn = keyedSerializer<string>();
  #network: Promise<Network> | undefined;
  #image: Promise<string> | undefined;
  #gateway: string | undefined;

  constructor(engine: EngineClient, owner: Owner) {
    this.#engine = engine;
    this.#owner = owner;
  }

  /** Where containers reach this machine; undefined before the first sandbox was opened. */
  get hostAddress(): string | undefined {
    return this.#gateway;
  }

  /** Undefined on the machine's own network, and if it does not run. */
  addressOf(id: string): string | undefined {
    return this.#opened.get(id)?.address ?? this.#found.get(id);
  }

  /** Undefined if it must be opened before a task can start in it. */
  find(id: string): Sandbox | undefined {
    return this.#opened.get(id)?.sandbox;
  }

  noteRunning(id: string, container: JsonObject): void {
    const address = addressIn(container, networkName(this.#owner.store));
    if (address !== undefined) this.#found.set(id, address);
  }

  /** The next `open` starts it again. */
  noteEnded(id: string): void {
    this.#opened.delete(id);
    this.#found.delete(id);
  }

  /** Creates, finds or restarts the sandbox; returns its address, else rejects with `sandbox-failed`. Repeatable. */
  open(sandbox: Sandbox): Promise<string | undefined> {
    return this.#inTurn(sandbox.id, async () => {
      const known = this.#opened.get(sandbox.id);
      if (known !== undefined) return known.address;
      const network = await this.#ensureNetwork();
      const name = await this.#create(sandbox);
      await this.#engine.call("POST", `/containers/${name}/start`);
      const container = await this.#engine.object("GET", `/containers/${name}/json`);
      const address = sandbox.hostNetwork ? undefined : addressIn(container, network.name);
      if (address === undefined && !sandbox.hostNetwork) throw sandboxFailed(sandbox, "it was given no address");
      this.#opened.set(sandbox.id, { sandbox, address, names: sandbox.names });
      this.#found.delete(sandbox.id);
      return address;
    });
  }

  /** Leaves and rejoins the network under other names; requesting the same address keeps connections alive. */
  rename(id: string, names: readonly string[]): Promise<void> {
    return this.#inTurn(id, async () => {
      const known = this.#opened.get(id);
      if (known?.address === undefined || sameNames(known.names, names)) return;
      const network = networkName(this.#owner.store);
      const container = sandboxName(this.#owner.store, id);
      await this.#engine.call("POST", `/networks/${network}/disconnect`, { body: { Container: container } });
      await this.#engine.call("POST", `/networks/${network}/connect`, {
        body: {
          Container: container,
          EndpointConfig: { Aliases: [...names], IPAMConfig: { IPv4Address: known.address } },
        },
      });
      this.#opened.set(id, { ...known, names });
    });
  }

  /** All of this store, in any state. */
  async list(): Promise<readonly string[]> {
    const ids = new Set<string>();
    for (const container of await this.#listed("containers", `${labels.role}=sandbox`)) {
      const id = labelsOf(container)[labels.sandbox];
      if (id !== undefined) ids.add(id);
    }
    return [...ids];
  }

  /** Removes everything with the sandbox's label, containers before the volumes they use. May be repeated. */
  close(id: string): Promise<void> {
    return this.#inTurn(id, async () => {
      const mine = `${labels.sandbox}=${id}`;
      for (const container of await this.#listed("containers", mine)) {
        await this.#remove(`/containers/${textOf(container, "Id")}`, { force: "1", v: "1" });
      }
      for (const volume of await this.#listed("volumes", mine)) {
        await this.#remove(`/volumes/${textOf(volume, "Name")}`, {});
      }
      this.noteEnded(id);
    });
  }

  /** Removes an empty network, which is made again on demand. */
  async releaseNetwork(): Promise<void> {
    const network = this.#network;
    this.#network = undefined;
    if (network === undefined) return;
    try {
      await this.#remove(`/networks/${networkName(this.#owner.store)}`, {});
    } catch (thrown) {
      // Pods continue without us.
      if (!isRefusal(thrown, 403)) throw thrown;
    }
  }

  async #create(sandbox: Sandbox): Promise<string> {
    for (const volume of sandbox.memoryVolumes) {
      await this.#engine.call("POST", "/volumes/create", { body: memoryVolume(sandbox, volume, this.#owner) });
    }
    const name = sandboxName(this.#owner.store, sandbox.id);
    const create = async () => {
      const body = pauseContainer(sandbox, await this.#ensureImage(), this.#owner);
      await this.#engine.call("POST", "/containers/create", { query: { name }, body });
    };
    try {
      await create();
    } catch (thrown) {
      if (isRefusal(thrown, 409)) return name;
      if (!isRefusal(thrown, 404)) throw thrown;
      // The image or network was removed.
      this.#image = undefined;
      this.#network = undefined;
      await this.#ensureNetwork();
      await create();
    }
    return name;
  }

  /** A failure is forgotten, so that the next sandbox tries again. */
  #ensureImage(): Promise<string> {
    this.#image ??= ensurePauseImage(this.#engine).catch((thrown: unknown) => {
      this.#image = undefined;
      throw thrown;
    });
    return this.#image;
  }

  #ensureNetwork(): Promise<Network> {
    this.#network ??= this.#makeNetwork().catch((thrown: unknown) => {
      this.#network = undefined;
      throw thrown;
    });
    return this.#network;
  }

  async #makeNetwork(): Promise<Network> {
    const name = networkName(this.#owner.store);
    let network = await this.#inspectNetwork(name);
    if (network === undefined) {
      // Addresses can be requested only in a network with an explicit range; the engine picks a free one.
      await this.#createNetwork(name, {});
      const draft = await this.#inspectNetwork(name);
      await this.#remove(`/networks/${name}`, {});
      await this.#createNetwork(name, rangeOf(draft ?? {}));
      network = await this.#inspectNetwork(name);
    }
    const { Gateway } = rangeOf(network ?? {});
    this.#gateway = typeof Gateway === "string" ? Gateway : undefined;
    return { name, gateway: this.#gateway };
  }

  async #inspectNetwork(name: string): Promise<JsonObject | undefined> {
    try {
      return await this.#engine.object("GET", `/networks/${name}`);
    } catch (thrown) {
      if (isRefusal(thrown, 404)) return undefined;
      throw thrown;
    }
  }

  #createNetwork(name: string, range: JsonObject): Promise<JsonValue | undefined> {
    const { store, process } = this.#owner;
    const body = {
      Name: name,
      CheckDuplicate: true,
      Driver: "bridge",
      Labels: {
        [labels.store]: store,
        [labels.role]: "network",
        ...(process === undefined ? {} : { [labels.owner]: process }),
      },
      ...(Object.keys(range).length === 0 ? {} : { IPAM: { Driver: "default", Config: [range] } }),
    };
    return this.#engine.call("POST", "/networks/create", { body });
  }

  /** Filtered by the store and one more label; ended containers are included. */
  async #listed(what: "containers" | "volumes", label: string): Promise<readonly JsonObject[]> {
    const filters = JSON.stringify({ label: [`${labels.store}=${this.#owner.store}`, label] });
    const path = what === "containers" ? "/containers/json" : "/volumes";
    const answer = await this.#engine.call("GET", path, { query: { all: "1", filters } });
    return listOf(answer, "Volumes");
  }

  async #remove(path: string, query: Readonly<Record<string, string>>): Promise<void> {
    try {
      await this.#engine.call("DELETE", path, { query });
    } catch (thrown) {
      // 409: it is being removed.
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }
}

const sandboxFailed = ({ namespace, name }: Sandbox, message: string): SlipwayError =>
  new SlipwayError("sandbox-failed", `the network of pod ${namespace}/${name} cannot be made: ${message}`);

const sameNames = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name) => others.includes(name));

/** Of an inspected or listed container. */
function addressIn(container: JsonObject, network: string): string | undefined {
  const networks = objectOf(objectOf(container, "NetworkSettings"), "Networks");
  return textOf(objectOf(networks, network), "IPAddress") || undefined;
}

/** Of the first address family. */
function rangeOf(network: JsonObject): JsonObject {
  const [first = {}] = listOf(objectOf(network, "IPAM"), "Config");
  const { Subnet, Gateway } = first;
  return {
    ...(typeof Subnet === "string" ? { Subnet } : {}),
    ...(typeof Gateway === "string" ? { Gateway } : {}),
  };
}

/** The engine writes null for none. */
export function labelsOf(listed: JsonObject): Readonly<Record<string, string | undefined>> {
  const found = listed["Labels"];
  if (!isJsonObject(found)) return {};
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}
