"""Limits of the server, in one record that `GET /v2` and the documentation state."""

import os

from pydantic import BaseModel, ConfigDict, Field

_MIB = 1024 * 1024


class Limits(BaseModel):
    """What one request, one client and all clients may use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: int = Field(default=32 * _MIB, ge=1, description="size of the body of a request")
    samples: int = Field(
        default=10_000, ge=1, description="samples of a request; lines of NDJSON are free"
    )
    explained_samples: int = Field(
        default=100, ge=1, description="samples of a request for explanations"
    )
    text_length: int = Field(default=1_000_000, ge=1, description="characters of a text")
    requests: int = Field(default=256, ge=1, description="requests at the same time")
    client_requests: int = Field(
        default=128, ge=1, description="requests of one address at the same time"
    )
    connections: int = Field(default=500, ge=1, description="open connections")
    held_bytes: int = Field(
        default=256 * _MIB, ge=1, description="bodies of all requests in memory"
    )
    queued_samples: int = Field(
        default=100_000, ge=1, description="samples that wait for a prediction"
    )
    seconds: float = Field(default=60.0, gt=0, description="seconds until a request is handled")
    idle_seconds: float = Field(
        default=10.0, gt=0, description="seconds to wait for data of a client"
    )
    workers: int = Field(
        default=min(4, os.cpu_count() or 1), ge=1, description="threads that predict and explain"
    )
    batch_samples: int = Field(default=64, ge=1, description="samples that are predicted together")
