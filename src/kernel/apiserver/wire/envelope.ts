import type { JsonObject } from "#lib/base/index.ts";
import { badRequest, unsupportedMediaType } from "#kernel/model/index.ts";
import { decodeMessage } from "./decode.ts";
import { messageNameOf, messageType } from "./messages.ts";
import { malformed, WireReader, wireType } from "./wire-reader.ts";

/** What clients that encode built-in kinds as protobuf send as the type of their body. */
export const protobufMediaType = "application/vnd.kubernetes.protobuf";

/** Four bytes in front of every body: `k8s` and a zero, so that it is never taken for JSON. */
const magic = [0x6b, 0x38, 0x73, 0x00] as const;

// message Unknown { TypeMeta typeMeta = 1; bytes raw = 2; string contentEncoding = 3; string contentType = 4 }
// message TypeMeta { string apiVersion = 1; string kind = 2 }
const unknownFields = { typeMeta: 1, raw: 2, contentEncoding: 3, contentType: 4 } as const;

/**
 * The object in a protobuf body, as its JSON would be: kubectl from 1.32 on and Go programs of the same age send built-in kinds
 * in no other way. 400 for bytes that are not protobuf, 415 with what to send instead for kinds without a message, which all
 * custom kinds are.
 */
export function decodeProtobuf(body: Uint8Array): JsonObject {
  if (magic.some((byte, index) => body[index] !== byte)) {
    throw badRequest(`a body of type ${protobufMediaType} starts with the bytes 6b 38 73 00, this one does not`);
  }
  const { apiVersion, kind, raw } = readEnvelope(new WireReader(body, magic.length));
  const name = messageNameOf(apiVersion, kind);
  const type = name === undefined ? undefined : messageType(name);
  if (type === undefined) {
    const found = `${protobufMediaType} of kind ${JSON.stringify(kind)} in ${JSON.stringify(apiVersion)}`;
    throw unsupportedMediaType(found, ["application/json", "application/yaml"]);
  }
  return { apiVersion, kind, ...decodeMessage(type, raw) };
}

/** Fields in any order, as protobuf allows; unknown ones are passed over. */
function readEnvelope(reader: WireReader) {
  let apiVersion = "";
  let kind = "";
  let raw = new WireReader(new Uint8Array());
  while (!reader.isAtEnd) {
    const { at } = reader;
    const { field, type } = reader.tag();
    if (type !== wireType.bytes) reader.skip(type);
    else if (field === unknownFields.typeMeta) ({ apiVersion, kind } = readTypeMeta(reader.message()));
    else if (field === unknownFields.raw) raw = reader.message();
    else if (field === unknownFields.contentEncoding || field === unknownFields.contentType) {
      const text = reader.string();
      if (text !== "" && text !== protobufMediaType) throw malformed(at, `the object inside is encoded as ${text}`);
    } else reader.skip(type);
  }
  return { apiVersion, kind, raw };
}

/** The type of the object inside: the outer message is the same for all kinds. */
function readTypeMeta(reader: WireReader) {
  let apiVersion = "";
  let kind = "";
  while (!reader.isAtEnd) {
    const { field, type } = reader.tag();
    if (field === 1 && type === wireType.bytes) apiVersion = reader.string();
    else if (field === 2 && type === wireType.bytes) kind = reader.string();
    else reader.skip(type);
  }
  return { apiVersion, kind };
}
