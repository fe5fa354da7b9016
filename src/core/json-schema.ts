import * as z from "zod/mini";

/** What limits a value. A value beyond is refused with a reason. */
const LIMITS = ["minimum", "maximum", "minLength", "maxLength", "maxItems"];

/** Returns a JSON Schema for models. It leaves out what a model does not need, because it costs tokens in each call: limits, and the dialect. */
export function jsonSchemaOf(schema: z.ZodMiniType, io: "input" | "output"): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...found } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      for (const limit of LIMITS) delete node[limit];
    },
  });
  return found;
}
