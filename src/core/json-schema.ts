import * as z from "zod/mini";

/** Returns a JSON Schema for models. It leaves out the limits of safe integers, which would cost tokens in each call. */
export function jsonSchemaOf(schema: z.ZodMiniType, io: "input" | "output"): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
    },
  });
}
