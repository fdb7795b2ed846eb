import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type FieldType, type MessageType, messageType } from "./messages.ts";
import { embeddedJson, jsonTypes, specials } from "./special.ts";
import { malformed, type WireReader, wireType } from "./wire-reader.ts";

// Go writes plain zero fields, JSON omits those; values behind pointers are kept (`replicas: 0`).

const maxDepth = 100;
const objectCost = 16;

type Draft = Record<string, JsonValue | undefined>;

/** Unknown fields become `#7`. Throws 400 with the byte position. At most 100 levels and four times the body's size. */
export function decodeMessage(type: MessageType, message: WireReader): JsonObject {
  return new Decoding(message.left).object(type, message, 0);
}

class Decoding {
  #budget: number;

  constructor(bodyBytes: number) {
    // The constant allows small bodies of empty messages.
    this.#budget = 4 * bodyBytes + 4096;
  }

  object(type: MessageType, reader: WireReader, depth: number): JsonObject {
    const draft: Draft = {};
    this.#readInto(draft, type, reader, depth);
    return draft;
  }

  /** Fields may come in any order and repeatedly. */
  #readInto(draft: Draft, type: MessageType, reader: WireReader, depth: number): void {
    if (depth > maxDepth) throw malformed(reader.at, `messages are nested deeper than ${maxDepth} levels`);
    while (!reader.isAtEnd) {
      const { field, type: wire } = reader.tag();
      const known = type.get(field);
      if (known === undefined) {
        reader.skip(wire);
        set(draft, `#${field}`, true);
      } else {
        this.#field(draft, known, wire, reader, depth);
      }
    }
  }

  /** The last of equal fields wins. */
  #field(draft: Draft, field: FieldType, wire: number, reader: WireReader, depth: number): void {
    const { name, type } = field;
    switch (field.cardinality) {
      case "embedded": {
        expect(field, wire, wireType.bytes, reader);
        const message = messageType(type);
        if (message !== undefined) this.#readInto(draft, message, reader.message(), depth + 1);
        return;
      }
      case "list":
        return this.#append(listOf(draft, name), field, wire, reader, depth);
      case "map":
        expect(field, wire, wireType.bytes, reader);
        return this.#entry(mapOf(draft, name), field, reader.message(), depth + 1);
      case "pointer":
        return set(draft, name, this.#value(field, wire, reader, depth));
      case "plain": {
        const value = this.#value(field, wire, reader, depth);
        if (!isAbsent(type, value)) set(draft, name, value);
      }
    }
  }

  /** One item, or packed numbers. */
  #append(list: JsonValue[], field: FieldType, wire: number, reader: WireReader, depth: number): void {
    const isPacked = wire === wireType.bytes && scalarWire(field.type) !== wireType.bytes;
    if (!isPacked) return void list.push(this.#value(field, wire, reader, depth) ?? null);
    for (const items = reader.message(); !items.isAtEnd; )
      list.push(this.#value(field, scalarWire(field.type), items, depth) ?? null);
  }

  /** Map entries are messages of key and value. */
  #entry(map: Draft, field: FieldType, reader: WireReader, depth: number): void {
    let key = "";
    let value: JsonValue | undefined = field.type === "string" || field.type === "bytes" ? "" : {};
    while (!reader.isAtEnd) {
      const { field: number, type: wire } = reader.tag();
      if (number === 1 && wire === wireType.bytes) key = this.#text(reader.string());
      else if (number === 2) value = this.#value(field, wire, reader, depth);
      else reader.skip(wire);
    }
    if (value !== undefined) set(map, key, value);
  }

  /** 64-bit numbers that JSON cannot hold exactly are refused. */
  #value(field: FieldType, wire: number, reader: WireReader, depth: number): JsonValue | undefined {
    expect(field, wire, scalarWire(field.type), reader);
    const { at } = reader;
    switch (field.type) {
      case "string":
        return this.#text(reader.string());
      case "bytes":
        return this.#text(Buffer.from(reader.bytes()).toString("base64"));
      case "bool":
        return reader.varint() !== 0n;
      case "int32":
        return int32(reader.integer(), at);
      case "int64":
        return reader.integer();
      case "double":
        return reader.double();
      default:
        return this.#message(field.type, reader.message(), depth + 1);
    }
  }

  #message(name: string, reader: WireReader, depth: number): JsonValue | undefined {
    const { at } = reader;
    const type = messageType(name);
    if (type === undefined) throw malformed(at, `${name} is not a message this server knows`);
    this.#spend(objectCost, at);
    if (jsonTypes.has(name)) return embeddedJson(firstBytes(reader), at);
    const fields = this.object(type, reader, depth);
    const special = specials.get(name);
    return special === undefined ? fields : special(fields, at);
  }

  #text(text: string): string {
    this.#spend(text.length, 0);
    return text;
  }

  /** Refuses small bodies that expand into large objects. */
  #spend(cost: number, at: number): void {
    this.#budget -= cost;
    if (this.#budget < 0) throw malformed(at, "the decoded object is larger than four times the body");
  }
}

const isScalar = (type: string): boolean => !type.includes(".");

function scalarWire(type: string): number {
  switch (type) {
    case "bool":
    case "int32":
    case "int64":
      return wireType.varint;
    case "double":
      return wireType.fixed64;
    default:
      return wireType.bytes;
  }
}

function expect({ name }: FieldType, wire: number, expected: number, reader: WireReader): void {
  if (wire !== expected) throw malformed(reader.at, `${name} has wire type ${wire}, expected ${expected}`);
}

/** Negative ones are sign-extended to 64 bits; refuses what Go would truncate. */
function int32(value: number, at: number): number {
  if (value !== (value | 0)) throw malformed(at, `${value} has more than 32 bits`);
  return value;
}

/** Zero values of non-pointers. `targetPort: 0` has a type of its own and stays. */
function isAbsent(type: string, value: JsonValue | undefined): boolean {
  if (value === undefined) return true;
  if (isScalar(type)) return value === "" || value === 0 || value === false;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Field 1 of types that embed JSON. */
function firstBytes(reader: WireReader): Uint8Array {
  let found: Uint8Array = new Uint8Array();
  while (!reader.isAtEnd) {
    const { field, type } = reader.tag();
    if (field === 1 && type === wireType.bytes) found = reader.bytes();
    else reader.skip(type);
  }
  return found;
}

/** Map keys may be anything, such as `toString`. */
const own = (draft: Draft, name: string): JsonValue | undefined =>
  Object.hasOwn(draft, name) ? draft[name] : undefined;

function listOf(draft: Draft, name: string): JsonValue[] {
  const list = own(draft, name);
  if (Array.isArray(list)) return list;
  const fresh: JsonValue[] = [];
  set(draft, name, fresh);
  return fresh;
}

function mapOf(draft: Draft, name: string): Draft {
  const map = own(draft, name);
  // Only maps are put under this name.
  if (map !== undefined) return map as Draft;
  const fresh: Draft = {};
  set(draft, name, fresh);
  return fresh;
}

/** Assigning to `__proto__` would set the prototype. */
function set(draft: Draft, name: string, value: JsonValue | undefined): void {
  if (name !== "__proto__") draft[name] = value;
  else Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true });
}
