import * as z from "zod/mini";

/**
 * Returns the JSON Schema of a schema, for models. The limits of safe integers are left out, because every word of it is sent
 * with each call.
 */
export function jsonSchemaOf(schema: z.ZodMiniType, io: "input" | "output"): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
    },
  });
}
