import { err, isJsonObject, type JsonValue, messageOf, ok, type Result } from "#lib/base/index.ts";
import { made } from "../model/read.ts";
import type { Machine } from "../objects.ts";
import { composeParam, findParam, type ParamOwner, paramSources } from "../params/lookup.ts";
import type { RenderPlace } from "../render.ts";
import { isSealed } from "../secure/box.ts";
import type { World } from "../world.ts";
import type { Part, Parts } from "./parts.ts";

/** A value as the module reads it (`go/rebar/render.go`); null: there is none. */
export type SentValue = { readonly plain: JsonValue } | { readonly part: string } | { readonly error: string } | null;

/** Below it a reference is hardly shorter. */
const minPartChars = 256;

/** The params of one machine, as templates look them up. */
export class MachineValues {
  readonly #world: World;
  readonly #owner: ParamOwner;
  readonly #parts: Parts;
  /** What sealed values are, by these; all others stay sealed. */
  readonly #opened = new Map<JsonValue, Result<JsonValue, string>>();
  /** Parts that values refer to. */
  readonly parts = new Map<string, Part>();

  constructor(machine: Machine | undefined, world: World, parts: Parts) {
    this.#world = world;
    this.#owner = ownerOf(machine, world);
    this.#parts = parts;
  }

  /** Opens the sealed values of the params, so that they are found open. */
  async open(
    { params, composed }: { readonly params: Iterable<string>; readonly composed: Iterable<string> },
    place: Pick<RenderPlace, "open">,
  ): Promise<void> {
    for (const name of new Set([...params, ...composed])) {
      if (!this.#isSecure(name)) continue;
      for (const { owner, values } of paramSources(this.#world, this.#owner)) {
        const value = Object.hasOwn(values, name) ? values[name] : undefined;
        if (value === undefined || this.#opened.has(value) || !isSealed(value)) continue;
        this.#opened.set(value, await openedBy(place, owner, value));
      }
    }
  }

  has(name: string): boolean {
    return findParam(this.#world, this.#owner, name) !== undefined;
  }

  first(name: string): SentValue {
    return this.#sent(name, () => {
      const found = findParam(this.#world, this.#owner, name);
      return found && this.#shown(found.value);
    });
  }

  composed(name: string): SentValue {
    return this.#sent(name, () => {
      const made = composeParam(this.#world, this.#owner, name, (_owner, value) => this.#shown(value));
      if (!made.ok) throw new Error(made.error);
      return made.value;
    });
  }

  #shown(value: JsonValue): JsonValue {
    const opened = this.#opened.get(value);
    if (opened?.ok === false) throw new Error(opened.error);
    return opened === undefined ? value : opened.value;
  }

  #isSecure(name: string): boolean {
    return this.#world.get("params", name)?.Secure === true;
  }

  #sent(name: string, find: () => JsonValue | undefined): SentValue {
    let value: JsonValue | undefined;
    try {
      value = find();
    } catch (thrown) {
      return { error: messageOf(thrown) };
    }
    if (value === undefined) return null;
    // The module keeps parts, but not what was sealed.
    if (!(isJsonObject(value) || Array.isArray(value)) || this.#isSecure(name)) return { plain: value };
    const part = this.#parts.of(value);
    if (part.text.length < minPartChars) return { plain: value };
    this.parts.set(part.hash, part);
    return { part: part.hash };
  }
}

async function openedBy(
  place: Pick<RenderPlace, "open">,
  owner: string,
  sealed: JsonValue,
): Promise<Result<JsonValue, string>> {
  try {
    return ok(await place.open(owner, sealed));
  } catch (thrown) {
    return err(messageOf(thrown));
  }
}

/** Without a machine there is only the profile that is for all. */
const ownerOf = (machine: Machine | undefined, world: World): ParamOwner =>
  machine === undefined
    ? { collection: "profiles", object: world.get("profiles", "global") ?? made("profiles", { Name: "global" }) }
    : { collection: "machines", object: machine };
