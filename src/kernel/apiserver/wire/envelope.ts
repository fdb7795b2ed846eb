import type { JsonObject } from "#lib/base/index.ts";
import { badRequest, unsupportedMediaType } from "#kernel/model/index.ts";
import { decodeMessage } from "./decode.ts";
import { messageNameOf, messageType } from "./messages.ts";
import { malformed, WireReader, wireType } from "./wire-reader.ts";

export const protobufMediaType = "application/vnd.kubernetes.protobuf";

/** `k8s` and a zero, before every body. */
const magic = [0x6b, 0x38, 0x73, 0x00] as const;

// message Unknown { TypeMeta typeMeta = 1; bytes raw = 2; string contentEncoding = 3; string contentType = 4 }
// message TypeMeta { string apiVersion = 1; string kind = 2 }
const unknownFields = { typeMeta: 1, raw: 2, contentEncoding: 3, contentType: 4 } as const;

/** From current kubectl and Go clients. 400 for malformed bytes, 415 for kinds without a message. */
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
