import { isUtf8 } from "node:buffer";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** The output of LangGraph's serializer: JSON as text, which SQL can read, and anything else in base64. */
export type Serialized = { type: string; text: string } | { type: string; base64: string };

export async function serialize(serde: SerializerProtocol, value: unknown): Promise<Serialized> {
  const [type, bytes] = await serde.dumpsTyped(value);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return type === "json" && isUtf8(bytes)
    ? { type, text: buffer.toString() }
    : { type, base64: buffer.toString("base64") };
}

export async function deserialize(serde: SerializerProtocol, serialized: Serialized) {
  const { type } = serialized;
  return serde.loadsTyped(
    type,
    "text" in serialized ? serialized.text : new Uint8Array(Buffer.from(serialized.base64, "base64")),
  );
}
