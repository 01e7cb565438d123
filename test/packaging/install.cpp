/* SPDX-License-Identifier: BSD-3-Clause */
// Proves that a C++17 program can be written against lockstep.h: callbacks are
// lambdas, errors become exceptions, and a line is fitted by an own gradient.
#include <lockstep.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

void check(int status)
{
    if (status < 0)
        throw std::runtime_error(ls_errmsg());
}

template <typename T>
using owner = std::unique_ptr<T, void (*)(T *)>;

owner<ls_pool> open_pool()
{
    ls_mesh_options options = ls_mesh_defaults();
    ls_mesh *mesh = nullptr;
    ls_pool *pool = nullptr;

    options.devices = 4;
    check(ls_mesh_open(&mesh, &options));
    owner<ls_mesh> plan(mesh, ls_mesh_close);
    check(ls_pool_open(&pool, mesh, nullptr));
    return {pool, ls_pool_close};
}

// loss = (a - x)^2 / 2 over the rows x; a goes to their mean.
owner<ls_trainer> open_trainer(ls_pool *pool)
{
    const ls_array_spec input = {"x", LS_F32, 0, {}};
    const ls_array_spec param = {"a", LS_F32, 1, {1}};
    auto fn = [](void *, int, const ls_shard *shard, const float *const *p,
                 float *const *grads, ls_sums *sums) {
        auto x = static_cast<const float *>(shard->data[0]);
        float sum = 0;

        for (int64_t i = 0; i < shard->rows; i++) {
            sum += p[0][0] - x[i];
            sums->loss += std::pow(p[0][0] - x[i], 2) / 2;
        }
        sums->weight = static_cast<double>(shard->rows);
        if (grads)
            grads[0][0] = sum;
        return 0;
    };
    const ls_gradient gradient = {fn, nullptr, 1, 1, &input, &param};
    ls_trainer_options options = ls_trainer_defaults();
    ls_trainer *t = nullptr;

    options.optimizer = ls_sgd(0.5);
    check(ls_trainer_open_gradient(&t, pool, &gradient, &options));
    return {t, ls_trainer_close};
}

float train(ls_trainer *t)
{
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    ls_batch *b = nullptr;
    ls_result r;
    float a = 0;

    check(ls_batch_open(&b, t));
    owner<ls_batch> batch(b, ls_batch_close);
    check(ls_batch_set(b, "x", LS_F32, x.data(),
                       static_cast<int64_t>(x.size())));
    for (int step = 0; step < 30; step++)
        check(ls_step(t, b, &r));
    check(ls_trainer_get(t, "a", 1, &a));
    return a;
}

} // namespace

int main()
{
    try {
        auto pool = open_pool();
        auto trainer = open_trainer(pool.get());
        float a = train(trainer.get());

        std::printf("mean %.4f\n", static_cast<double>(a));
        return std::fabs(a - 4.5f) < 1e-4f ? 0 : 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "install.cpp: %s\n", e.what());
        return 1;
    }
}
